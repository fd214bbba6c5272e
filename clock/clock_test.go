package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/clock"
)

var _ clock.Clock = clock.Real{} // the zero value is ready to use

func TestSleepTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock.Real
		start := c.Now()
		if err := c.Sleep(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if took := c.Now().Sub(start); took != time.Minute {
			t.Errorf("slept %v", took)
		}
	})
}

func TestSleepEndsWithItsContext(t *testing.T) {
	hungUp := errors.New("client hung up")
	synctest.Test(t, func(t *testing.T) {
		var c clock.Real
		ctx, cancel := context.WithCancelCause(t.Context())
		slept := make(chan error)
		start := c.Now()
		go func() { slept <- c.Sleep(ctx, time.Hour) }()
		synctest.Wait() // it sleeps now
		cancel(hungUp)
		if err := <-slept; err != hungUp {
			t.Errorf("want the cause, got %v", err)
		}
		if took := c.Now().Sub(start); took != 0 {
			t.Errorf("slept %v after the context ended", took)
		}
	})
}

func TestSleepOfAnEndedContext(t *testing.T) {
	hungUp := errors.New("client hung up")
	for _, row := range []struct {
		why string
		d   time.Duration
	}{
		{"no sleep at all", time.Hour},
		{"the end comes first, always: no race with a timer of 0", 0},
		{"nor with one of the past", -time.Second},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(hungUp)
		if err := (clock.Real{}).Sleep(ctx, row.d); err != hungUp {
			t.Errorf("%s: Sleep(%v) gave %v", row.why, row.d, err)
		}
	}
}

func TestSleepOfNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{0, -time.Hour} {
			start := time.Now()
			if err := (clock.Real{}).Sleep(t.Context(), d); err != nil || time.Since(start) != 0 {
				t.Errorf("Sleep(%v) took %v and gave %v", d, time.Since(start), err)
			}
		}
	})
}

func TestWithDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock.Real
		at := c.Now().Add(time.Minute)
		ctx, cancel := c.WithDeadline(t.Context(), at)
		defer cancel()
		if got, ok := ctx.Deadline(); !ok || !got.Equal(at) {
			t.Errorf("deadline %v, want %v", got, at)
		}
		if err := c.Sleep(ctx, time.Hour); err != context.DeadlineExceeded {
			t.Errorf("want DeadlineExceeded, got %v", err)
		}
		if late := c.Now().Sub(at); late != 0 {
			t.Errorf("ended %v after the deadline", late)
		}
	})
}

func TestWithDeadlineEndsEarlier(t *testing.T) {
	hungUp := errors.New("client hung up")
	synctest.Test(t, func(t *testing.T) {
		var c clock.Real
		parent, hangUp := context.WithCancelCause(t.Context())
		ctx, cancel := c.WithDeadline(parent, c.Now().Add(time.Hour))
		cancelled, cancelNow := c.WithDeadline(t.Context(), c.Now().Add(time.Hour))
		defer cancel()
		cancelNow()
		if err := c.Sleep(cancelled, time.Hour); err != context.Canceled {
			t.Errorf("by its own cancel: %v", err)
		}
		hangUp(hungUp)
		if err := c.Sleep(ctx, time.Hour); err != hungUp {
			t.Errorf("with its parent: want the parent's cause, got %v", err)
		}
	})
}
