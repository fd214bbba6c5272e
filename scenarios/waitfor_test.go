package scenarios_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/scenarios"
)

// still is a stage on which nothing happens any more.
type still struct {
	scenarios.Stage
	events []history.Event
}

func (s still) Await(ctx context.Context, cond func([]history.Event) bool) error {
	if cond(s.events) {
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestWhoNeverSaysThatItWaitsIsNotWaitedForForEver(t *testing.T) {
	sent := history.Event{Kind: history.Send, Attempt: 1}
	asked := history.Event{Kind: history.StoreCall, Attempt: 1, Op: "get"}
	waits := history.Event{Kind: history.StoreCall, Attempt: 1, Op: "await"}
	called := history.Event{Kind: history.Arrive, Attempt: 2}
	for _, row := range []struct {
		why    string
		step   scenarios.WaitFor
		events []history.Event
		took   time.Duration
		fails  bool
	}{
		{"it says that it waits", scenarios.WaitFor{Placed: true}, []history.Event{sent, waits}, 0, false},
		{"it polls, or waits in its memory", scenarios.WaitFor{Placed: true}, []history.Event{sent, asked}, 2 * time.Second, false},
		{"... but a call has to arrive all the same", scenarios.WaitFor{Placed: true, Calls: 1}, []history.Event{sent, asked}, time.Minute, true},
		{"... and it has", scenarios.WaitFor{Placed: true, Calls: 1}, []history.Event{sent, called}, 2 * time.Second, false},
		{"events are waited for as long as it takes", scenarios.WaitFor{Charges: 1}, []history.Event{sent}, time.Minute, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			err := row.step.Play(ctx, still{events: row.events})
			if took := time.Since(began); took != row.took || (err != nil) != row.fails {
				t.Errorf("%s: %v after %v", row.why, err, took)
			}
			if row.fails && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", row.why, err)
			}
		})
	}
}
