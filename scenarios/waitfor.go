package scenarios

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/idemrace/idemrace/history"
)

// WaitFor is the step "go on when this has happened": races are made by event,
// not by sleep. All conditions given must be met.
type WaitFor struct {
	Calls    int    `yaml:"calls,omitempty"`    // that many calls have arrived at the provider, all told
	Charges  int    `yaml:"charges,omitempty"`  // that many charges have been committed
	Answered string `yaml:"answered,omitempty"` // this client has its answer
	Paused   string `yaml:"paused,omitempty"`   // this worker has met its pause
	// Placed: every attempt sent is answered, waiting, or at the provider. To
	// wait for "n calls at the provider" would hang on a correct target.
	Placed bool `yaml:"placed,omitempty"`
}

// String is e.g. "wait until 1 call has reached the provider".
func (w WaitFor) String() string {
	var parts []string
	if w.Calls > 0 {
		parts = append(parts, fmt.Sprintf("call %d has reached the provider", w.Calls))
	}
	if w.Charges > 0 {
		parts = append(parts, fmt.Sprintf("charge %d is committed", w.Charges))
	}
	if w.Answered != "" {
		parts = append(parts, w.Answered+" is answered")
	}
	if w.Paused != "" {
		parts = append(parts, "worker "+w.Paused+" is frozen")
	}
	if w.Placed {
		parts = append(parts, "everybody is answered, waiting, or at the provider")
	}
	return "wait until " + strings.Join(parts, " and ")
}

// Needs a provider that is ours, to see its calls.
func (w WaitFor) Needs() []Ability {
	if w.Calls > 0 || w.Charges > 0 {
		return []Ability{CommandProvider}
	}
	return nil
}

// unplaced is how long Placed is waited for. A target that polls, or waits in its own
// memory, never says that it waits; after so long it is where it will be. Others
// say so at once, on a stalled machine too.
const unplaced = 2 * time.Second

// Play waits.
func (w WaitFor) Play(ctx context.Context, st Stage) error {
	if w.Placed {
		bounded, cancel := context.WithTimeout(ctx, unplaced)
		defer cancel()
		if err := st.Await(bounded, w.met); err == nil || bounded.Err() == nil || ctx.Err() != nil {
			return err
		}
		w.Placed = false
	}
	return st.Await(ctx, w.met)
}

func (w WaitFor) met(events []history.Event) bool {
	var calls, charges int
	answered, paused := w.Answered == "", w.Paused == ""
	open := map[int]bool{} // attempts that are not placed
	for _, e := range events {
		switch e.Kind {
		case history.Send:
			open[e.Attempt] = true
		case history.Answer:
			delete(open, e.Attempt)
			answered = answered || e.Client == w.Answered
		case history.Arrive:
			calls++
			delete(open, e.Attempt)
		case history.Commit:
			charges++
		case history.Fault:
			paused = paused || e.Op == "worker-paused" && e.Worker == w.Paused
		case history.StoreCall:
			if e.Op == "await" {
				delete(open, e.Attempt)
			} else if _, was := open[e.Attempt]; !was && e.Op == "claim" {
				open[e.Attempt] = true // a waiter that claims again is moving
			}
		}
	}
	return calls >= w.Calls && charges >= w.Charges && answered && paused && (!w.Placed || len(open) == 0)
}
