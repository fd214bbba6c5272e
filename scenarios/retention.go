package scenarios

import (
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// retention: replayed until it ends, forgotten afterwards. The ends come by
// command.
func retention() Scenario {
	return Scenario{
		Name:    "retention",
		Title:   "retry just before retention ends, and a new request after it",
		Article: true,
		Why: "A record must outlive the latest possible retry: 24 h covers a batch that is rerun the next day. " +
			"A result that is forgotten early is a second charge; after retention the key is new, and so is the order behind it.",
		Steps: []Step{
			Send{Client: "A"}, Join{},
			SetExpiry{In: time.Minute},
			Send{Client: "B"}, Join{},
			SetExpiry{In: 0},
			Send{Client: "C", Ref: "r2"}, Join{}, Settle{},
		},
		Exposes:  possibly("record/retained", "record/final-is-final", "effect/at-most-once"),
		Stresses: []check.Stress{check.Replay},
		Controls: []history.Control{{Name: "fault:set-expiry", Min: 2}, {Name: "replay", Min: 1}, {Name: "charge", Min: 2}},
	}
}
