package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// twoWorkers: a lock in memory guards one process.
func twoWorkers() Scenario {
	return Scenario{
		Name:  "two-workers",
		Title: "the duplicate reaches another worker while the first attempt is running",
		Why: "In production there are several workers behind a load balancer, and a retry rarely comes back to the one that has the first attempt. " +
			"A lock in one process's memory says nothing to the other.",
		Setting: Setting{Workers: []string{"w1", "w2"}, Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A", Worker: "w1"}, WaitFor{Calls: 1},
			Send{Client: "B", Worker: "w2"}, WaitFor{Placed: true},
			Release{InTurn: true}, Join{}, Settle{},
		},
		Exposes:  join(surely(doubled()...), possibly("answer/replay-equal", "answer/loser", "answer/one-fresh", "answer/in-progress-true")),
		Stresses: []check.Stress{check.Overlap, check.TwoWorkers},
		Controls: []history.Control{{Name: "overlap", Min: 1}, {Name: "fault:provider-release", Min: 1}},
	}
}

// twoWorkersRetry: the sequential retry, on another worker.
func twoWorkersRetry() Scenario {
	return Scenario{
		Name:     "two-workers-retry",
		Title:    "retry on another worker after the first has been answered",
		Why:      "Records that only one worker has are no records: the retry goes to its neighbour, which knows nothing and charges again.",
		Setting:  Setting{Workers: []string{"w1", "w2"}},
		Steps:    []Step{Send{Client: "A", Worker: "w1"}, Join{}, Send{Client: "B", Worker: "w2"}, Join{}, Settle{}},
		Exposes:  join(surely("effect/at-most-once", "answer/one-fresh"), possibly("answer/replay-equal", "effect/silent-duplicate")),
		Stresses: []check.Stress{check.TwoWorkers},
		Controls: []history.Control{{Name: "charge", Min: 1}},
	}
}
