package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// hangUpDuring: the client leaves while its charge is being made.
func hangUpDuring() Scenario {
	return Scenario{
		Name:  "hang-up-during",
		Title: "the client hangs up while the provider is charging; retry",
		Why: "A time-out is the client's and not the payment's: the charge goes on. If action or record end with the client's connection, " +
			"the charge is made, nobody writes it down, and the retry charges again.",
		Setting: Setting{Script: []fakeprovider.Behaviour{{Hold: true}}},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1}, HangUp{Client: "A"}, WaitFor{Answered: "A"},
			Release{All: true}, Idle{},
			Send{Client: "B"}, Join{}, Settle{},
		},
		Exposes:  join(surely("client/abort-safe", "effect/at-most-once"), possibly("effect/accounted", "effect/silent-duplicate", "effect/no-overlap", "answer/replay-equal")),
		Stresses: []check.Stress{check.ClientLeaves},
		Controls: []history.Control{{Name: "hang-up", Min: 1}, {Name: "fault:provider-release", Min: 1}},
	}
}

// hangUpAfter: the client leaves when the charge is made and the answer is not
// there yet.
func hangUpAfter() Scenario {
	return Scenario{
		Name:    "hang-up-after",
		Title:   "the client hangs up between the charge and its answer; retry",
		Why:     "The charge stands, and the record is not written yet. It has to be written although nobody waits for it any more.",
		Setting: Setting{Script: []fakeprovider.Behaviour{{HoldAfter: true}}},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Charges: 1}, HangUp{Client: "A"}, WaitFor{Answered: "A"},
			Release{All: true}, Idle{},
			Send{Client: "B"}, Join{}, Settle{},
		},
		Exposes:  join(surely("client/abort-safe", "effect/at-most-once"), possibly("effect/accounted", "effect/silent-duplicate", "effect/no-overlap", "answer/replay-equal")),
		Stresses: []check.Stress{check.ClientLeaves},
		Controls: []history.Control{{Name: "hang-up", Min: 1}, {Name: "charge", Min: 1}},
	}
}

// hangUpWaiter: a duplicate that leaves changes nothing.
func hangUpWaiter() Scenario {
	return Scenario{
		Name:    "hang-up-waiter",
		Title:   "a duplicate hangs up while the first attempt is running",
		Why:     "Who waits owns nothing: when it leaves, the owner's claim, charge and answer stay as they are.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1},
			Send{Client: "B"}, WaitFor{Placed: true}, HangUp{Client: "B"}, WaitFor{Answered: "B"},
			Release{InTurn: true}, Idle{}, Send{Client: "C"}, Join{}, Settle{},
		},
		Exposes:  join(surely("effect/at-most-once"), possibly("client/abort-safe", "effect/accounted", "effect/no-overlap", "effect/silent-duplicate", "answer/replay-equal")),
		Stresses: []check.Stress{check.Overlap, check.WaiterLeaves},
		Controls: []history.Control{{Name: "overlap", Min: 1}},
	}
}
