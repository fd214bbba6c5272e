package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// sequentialRetry is the case that every test suite has, and that every result
// cache passes.
func sequentialRetry() Scenario {
	return Scenario{
		Name:    "sequential-retry",
		Title:   "retry after the first has been answered",
		Article: true,
		Why: "The retry comes after the first attempt has ended, so the result is there to be replayed. " +
			"This is what test suites try, and it is exactly not when people retry.",
		Steps:    []Step{Send{Client: "A"}, Join{}, Send{Client: "B"}, Join{}, Settle{}},
		Exposes:  possibly("effect/at-most-once", "answer/replay-equal", "answer/one-fresh"),
		Stresses: []check.Stress{check.Replay},
		Controls: []history.Control{{Name: "replay", Min: 1}},
	}
}
