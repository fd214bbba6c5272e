package history_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newRecorder() *history.Recorder {
	return history.NewRecorder(history.Header{Scenario: "s", Target: "t"}, clock.Real{})
}

func TestNumbersAndTimesHaveOneOrder(t *testing.T) {
	rec := newRecorder()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				rec.Record(history.Event{Kind: history.Send})
			}
		})
	}
	all.Wait()
	events := rec.History().Events
	if len(events) != 800 {
		t.Fatalf("%d events were kept, want 800", len(events))
	}
	for i, e := range events {
		if e.Seq != i+1 {
			t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
		if i > 0 && e.At < events[i-1].At {
			t.Fatalf("event %d runs back in time: %v after %v", e.Seq, e.At, events[i-1].At)
		}
	}
}

func TestTimeIsCountedFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		time.Sleep(300 * time.Millisecond)
		if e := rec.Record(history.Event{Kind: history.Send}); e.At != 300*time.Millisecond {
			t.Errorf("recorded at %v, want 300ms", e.At)
		}
	})
}

func TestNothingIsRecordedAfterClose(t *testing.T) {
	rec := newRecorder()
	rec.Record(history.Event{Kind: history.Send})
	rec.Close()
	rec.Close()
	if e := rec.Record(history.Event{Kind: history.Answer}); e.Seq != 0 {
		t.Errorf("a late event got number %d", e.Seq)
	}
	if n := len(rec.History().Events); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

func TestHistoryIsACopy(t *testing.T) {
	rec := newRecorder()
	rec.Record(history.Event{Kind: history.Send, Client: "A"})
	rec.History().Events[0].Client = "B"
	if got := rec.History().Events[0].Client; got != "A" {
		t.Errorf("the recorder's own event was changed to %q", got)
	}
}

// Two odd keys must not become one in the file.
func TestBytesThatAreNoTextAreSpelledOut(t *testing.T) {
	rec := newRecorder()
	rec.Record(history.Event{Kind: history.Send, Key: "a\xffb", Name: "ü\xfe"})
	e := rec.History().Events[0]
	if e.Key != `a\xffb` || e.Name != `ü\xfe` {
		t.Errorf("key %q, name %q", e.Key, e.Name)
	}
}

func charges(n int) func([]history.Event) bool {
	return func(events []history.Event) bool {
		seen := 0
		for _, e := range events {
			if e.Kind == history.Commit {
				seen++
			}
		}
		return seen >= n
	}
}

func TestAwaitReturnsWhenTheConditionHolds(t *testing.T) {
	rec := newRecorder()
	done := make(chan error)
	for range 5 {
		go func() { done <- rec.Await(t.Context(), charges(2)) }()
	}
	rec.Record(history.Event{Kind: history.Commit})
	rec.Record(history.Event{Kind: history.Commit})
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := rec.Await(t.Context(), charges(2)); err != nil {
		t.Errorf("a condition that holds already: %v", err)
	}
}

// A condition that holds for one event only is not missed, however fast the
// next events come.
func TestAwaitMissesNoMoment(t *testing.T) {
	rec := newRecorder()
	asked, done := make(chan struct{}, 1), make(chan error)
	go func() {
		done <- rec.Await(t.Context(), func(events []history.Event) bool {
			select {
			case asked <- struct{}{}:
			default:
			}
			return len(events) == 3
		})
	}()
	<-asked
	for range 100 {
		rec.Record(history.Event{Kind: history.Send})
	}
	rec.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAwaitEndsWithTheContextOrTheRecorder(t *testing.T) {
	rec := newRecorder()
	never := func([]history.Event) bool { return false }
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := rec.Await(ctx, never); !errors.Is(err, why) {
		t.Errorf("got %v, want the context's cause", err)
	}
	done := make(chan error)
	go func() { done <- rec.Await(t.Context(), never) }()
	rec.Close()
	if err := <-done; !errors.Is(err, history.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestAttemptTravelsInTheContext(t *testing.T) {
	ctx := history.WithAttempt(t.Context(), 7)
	if n := history.AttemptOf(context.WithoutCancel(ctx)); n != 7 {
		t.Errorf("got %d, want 7", n)
	}
	if n := history.AttemptOf(t.Context()); n != 0 {
		t.Errorf("got %d from a bare context, want 0", n)
	}
}
