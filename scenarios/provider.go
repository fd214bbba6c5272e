package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// Release is the step "the provider goes on": one held call by number, or all.
type Release struct {
	Call   int  `yaml:"call,omitempty"`    // this one (1 is the first that arrived)
	IfMade bool `yaml:"if-made,omitempty"` // nothing to do if that call is not held: a careful target does not make it
	All    bool `yaml:"all,omitempty"`     // all that are held, and nothing is held any more
	InTurn bool `yaml:"in-turn,omitempty"` // All, but one after the other: each is answered before the next goes on
}

// String is e.g. "the provider lets call 2 go on".
func (r Release) String() string {
	if r.InTurn {
		return "the provider lets every call go on, one after the other is answered"
	}
	if r.All {
		return "the provider lets every call go on"
	}
	if r.IfMade {
		return fmt.Sprintf("the provider lets call %d go on, if it was made", r.Call)
	}
	return fmt.Sprintf("the provider lets call %d go on", r.Call)
}

// Needs a provider that is ours.
func (r Release) Needs() []Ability { return []Ability{CommandProvider} }

// Play releases. That a call is held already is not needed: what has not
// arrived yet passes when all are released.
func (r Release) Play(ctx context.Context, st Stage) error {
	p := st.Provider()
	if r.InTurn {
		return r.inTurn(ctx, st)
	}
	if !r.All {
		if !p.ReleaseCall(r.Call) {
			if r.IfMade {
				return nil
			}
			return fmt.Errorf("call %d is not held", r.Call)
		}
		st.Fault("provider-release", "", 1, 0)
		return nil
	}
	p.SetDefault(fakeprovider.Behaviour{})
	st.Fault("provider-release", "", p.Release(0), 0)
	return nil
}

// inTurn is for those who finish at once: in which order they then write is chance,
// and what the judge can say depends on it.
func (r Release) inTurn(ctx context.Context, st Stage) error {
	var held []history.Event
	if err := st.Await(ctx, func(events []history.Event) bool { held = lastLeft(events, open(events)); return true }); err != nil {
		return err
	}
	p := st.Provider()
	p.SetDefault(fakeprovider.Behaviour{})
	released := 0
	for _, call := range held {
		told, err := answersSoFar(ctx, st)
		if err != nil {
			return err
		}
		if !p.ReleaseCall(call.Call) {
			continue
		}
		released++
		if err := awaitAnswer(ctx, st, call.Attempt, told); err != nil {
			return err
		}
	}
	st.Fault("provider-release", "", released+p.Release(0), 0)
	return nil
}

// unnamed is how long the answer to a call is waited for of which nobody says whose
// it is: the client may have left.
const unnamed = time.Second

// awaitAnswer waits until the call's client is answered; of a call of which nobody
// says whose it is (over HTTP), until more are answered than had been told.
func awaitAnswer(ctx context.Context, st Stage, attempt, told int) error {
	if attempt > 0 {
		return st.Await(ctx, answered(attempt))
	}
	bounded, cancel := context.WithTimeout(ctx, unnamed)
	defer cancel()
	err := st.Await(bounded, func(events []history.Event) bool {
		n := kinds(events, history.Answer)
		return n > told || n == kinds(events, history.Send)
	})
	if bounded.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

func answersSoFar(ctx context.Context, st Stage) (n int, err error) {
	err = st.Await(ctx, func(events []history.Event) bool { n = kinds(events, history.Answer); return true })
	return n, err
}

func kinds(events []history.Event, k history.Kind) int {
	n := 0
	for _, e := range events {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// lastLeft puts those last whose clients have left: nobody is told when they are done.
func lastLeft(events, calls []history.Event) []history.Event {
	slices.SortStableFunc(calls, func(a, b history.Event) int {
		switch left := answered(b.Attempt)(events); {
		case answered(a.Attempt)(events) == left:
			return 0
		case left:
			return -1
		}
		return 1
	})
	return calls
}

// open are the calls that have not been answered, in order of arrival.
func open(events []history.Event) []history.Event {
	done := map[int]bool{}
	for _, e := range events {
		if e.Kind == history.Reply {
			done[e.Call] = true
		}
	}
	var calls []history.Event
	for _, e := range events {
		if e.Kind == history.Arrive && !done[e.Call] {
			calls = append(calls, e)
		}
	}
	return calls
}

// answered: the attempt's client has its answer, or has left.
func answered(attempt int) func([]history.Event) bool {
	return func(events []history.Event) bool {
		return slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.Answer && e.Attempt == attempt })
	}
}
