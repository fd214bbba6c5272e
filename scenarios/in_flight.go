package scenarios

import (
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// inFlight is the article's table 1, in real time.
func inFlight() Scenario {
	return Scenario{
		Name:    "in-flight",
		Title:   "first attempt still running (provider 300 ms), retry after 50 ms",
		Article: true,
		Why: "A client gives up after 50 ms and sends the identical request again, while its first one is still running. " +
			"A result cache finds nothing yet, so it charges again; then it answers both with the first result. " +
			"The answers agree, so no test that compares answers can see it. The card is charged twice.",
		Setting: Setting{
			Provider: fakeprovider.Behaviour{Before: 300 * time.Millisecond},
			RealTime: true, Alone: true, Takes: 350 * time.Millisecond,
		},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1},
			Send{Client: "B", After: 50 * time.Millisecond},
			Join{}, Settle{},
		},
		// Time is real here, so that the calls overlap is likely, but not sure.
		Exposes: join(surely("effect/at-most-once", "effect/silent-duplicate", "effect/accounted"),
			possibly("effect/no-overlap", "answer/replay-equal", "answer/loser")),
		Stresses: []check.Stress{check.Overlap},
		// On a machine that stalls, B comes when A is done: then nothing was raced.
		Controls: []history.Control{{Name: "overlap", Min: 1}, {Name: "entered", Min: 1}},
	}
}

// doubled are what two executions of one ref violate when nobody reports the
// second charge.
func doubled() []string {
	return []string{"effect/at-most-once", "effect/silent-duplicate", "effect/accounted", "effect/no-overlap"}
}
