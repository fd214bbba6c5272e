package scenarios

import (
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// keyless: two different orders without a key. A service was seen to take the
// missing key for one, and to answer the second order with the first one's charge.
func keyless() Scenario {
	return Scenario{
		Name:  "keyless",
		Title: "two different orders, both without a key",
		Why: "A missing key is no key: it may be refused, or served unprotected. Whoever looks it up as the empty string answers the second " +
			"customer's order with the first one's receipt.",
		Steps: []Step{
			Send{Client: "A", EmptyKey: true}, Join{},
			Send{Client: "B", EmptyKey: true, Ref: "r2", Amount: 5}, Join{}, Settle{},
		},
		Exposes:  possibly("key/hygiene", "effect/success-backed", "effect/accounted", "reuse/refused", "answer/no-foreign"),
		Stresses: []check.Stress{check.NamesVary},
	}
}

// burstRounds: bursts of real time, without anything held.
func burstRounds() Scenario {
	return Scenario{
		Name:  "burst-rounds",
		Title: "bursts of 2, 5 and 20, each with a key of its own (provider 20 ms)",
		Why: "A duplicate seconds later is a retry; one in the same millisecond is a race. A real service charged twice in 4 of 10 bursts of two " +
			"and in 10 of 10 bursts of twenty: so there are three rounds.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Before: 20 * time.Millisecond}},
		Steps: []Step{
			Send{Client: "A", Times: 2, Key: "burst-2"}, Join{},
			Send{Client: "B", Times: 5, Key: "burst-5", Ref: "r2"}, Join{},
			Send{Client: "C", Times: 20, Key: "burst-20", Ref: "r3"}, Join{}, Settle{},
		},
		Exposes:  possibly(append(doubled(), "answer/replay-equal", "answer/loser", "answer/one-fresh", "answer/in-progress-true")...),
		Stresses: []check.Stress{check.Overlap},
		Chance:   true,
		Controls: []history.Control{{Name: "overlap", Min: 100}},
	}
}

// burstWorkers: the same over two workers, with the window between looking and
// setting made wide.
func burstWorkers() Scenario {
	s := burstRounds()
	s.Name = "burst-two-workers"
	s.Title = "bursts of 2, 5 and 20 over two workers, with every reply of the store 20 ms late"
	s.Why = "A lock in memory guards one process, and a check before a set guards nobody: one of them may hide the other. " +
		"Two workers and a slow store show both."
	s.Setting.Workers = []string{"w1", "w2"}
	for i, step := range s.Steps {
		if send, ok := step.(Send); ok {
			send.Workers = s.Setting.Workers
			s.Steps[i] = send
		}
	}
	s.Steps = join([]Step{SlowStore{By: 20 * time.Millisecond}}, s.Steps[:len(s.Steps)-1], []Step{Heal{}, Settle{}})
	s.Stresses = append(s.Stresses, check.TwoWorkers)
	s.Controls = append(s.Controls, history.Control{Name: "fault:store-slow", Min: 1})
	return s
}
