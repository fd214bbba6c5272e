package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// overrun is how the three lease scenarios begin: A's call outlasts its lease,
// and B enters.
func overrun() []Step {
	return []Step{
		Send{Client: "A"}, WaitFor{Calls: 1},
		EndLeases{},
		Send{Client: "B"}, WaitFor{Placed: true},
	}
}

const overrunWhy = "The lease must outlast the slowest honest attempt, and one day it does not: a pause, a slow bank. " +
	"The next request takes the claim over and runs. Two charges can no longer be prevented without the provider's help; "

// leaseOverrun: the first completes while the second runs.
func leaseOverrun() Scenario {
	return Scenario{
		Name:    "lease-overrun",
		Title:   "the provider outlasts the lease, a second client enters; the first completes while the second runs",
		Why:     overrunWhy + "but the late owner must not overwrite the new one's claim, and must not hide its charge.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: join(overrun(), []Step{
			Release{Call: 1}, WaitFor{Answered: "A"},
			Release{All: true}, Join{}, Settle{},
		}),
		Exposes: join(surely("effect/at-most-once"), possibly("effect/silent-duplicate", "effect/accounted", "effect/no-overlap",
			"claim/fenced", "answer/replay-equal", "answer/in-progress-true", "answer/loser", "record/final-is-final")),
		Stresses:    []check.Stress{check.LeaseOverrun, check.Overlap},
		Controls:    []history.Control{{Name: "overlap", Min: 1}},
		AtLeastOnce: true,
	}
}

// leaseOverrunLate: the first completes after the second has.
func leaseOverrunLate() Scenario {
	return Scenario{
		Name:    "lease-overrun-late",
		Title:   "the provider outlasts the lease, a second client enters; the first completes after the second has",
		Why:     overrunWhy + "but both clients must get the one stored answer, and the late charge must be reported, to be voided.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: join(overrun(), []Step{
			Release{Call: 2, IfMade: true}, WaitFor{Answered: "B"},
			Release{All: true}, Join{}, Settle{},
		}),
		Exposes: join(surely("effect/at-most-once"), possibly("effect/silent-duplicate", "effect/accounted", "effect/no-overlap",
			"claim/fenced", "answer/replay-equal", "answer/loser", "answer/one-fresh", "record/final-is-final")),
		Stresses:    []check.Stress{check.LeaseOverrun, check.Overlap},
		Controls:    []history.Control{{Name: "overlap", Min: 1}},
		AtLeastOnce: true,
	}
}

// lateFailure: the overtaken owner fails, without effect. Nobody may charge
// twice here, so the stress is not the lease that is overrun by a charge but
// the error that comes late.
func lateFailure() Scenario {
	return Scenario{
		Name:  "late-failure",
		Title: "the provider outlasts the lease, a second client enters; the first fails late; a third client enters",
		Why: "A failed attempt releases its claim. If it does so without looking whose claim it is, it deletes the new owner's, " +
			"and a third request runs beside the second.",
		Setting: Setting{
			Script:   []fakeprovider.Behaviour{{Hold: true, Fail: fakeprovider.ErrorBefore}},
			Provider: fakeprovider.Behaviour{Hold: true},
		},
		Steps: join(overrun(), []Step{
			Release{Call: 1}, WaitFor{Answered: "A"},
			Send{Client: "C"}, WaitFor{Placed: true},
			Release{InTurn: true}, Join{}, Settle{},
		}),
		Exposes:  join(surely(doubled()...), possibly("claim/fenced", "answer/loser", "effect/failure-unbacked")),
		Stresses: []check.Stress{check.ProviderError, check.Overlap},
		Controls: []history.Control{{Name: "overlap", Min: 1}, {Name: "provider-failure", Min: 1}},
	}
}

// lateDecline: the overtaken owner is declined, when its successor has charged.
func lateDecline() Scenario {
	return Scenario{
		Name:  "late-decline",
		Title: "the provider outlasts the lease, a second client enters and is charged; then the first is declined",
		Why: "A decline is true of one call. Another attempt has charged meanwhile: told \"declined\" as the last word, the customer " +
			"pays again with another card, or the shop cancels an order that is paid.",
		Setting: Setting{
			Script:   []fakeprovider.Behaviour{{Hold: true, Fail: fakeprovider.Decline}},
			Provider: fakeprovider.Behaviour{Hold: true},
		},
		Steps: join(overrun(), []Step{
			Release{Call: 2, IfMade: true}, WaitFor{Answered: "B"},
			Release{All: true}, Join{}, Settle{},
		}),
		Exposes:  possibly("effect/failure-unbacked", "claim/fenced", "record/final-is-final", "effect/unknown-stays-unknown"),
		Stresses: []check.Stress{check.ProviderError, check.Overlap},
		Controls: []history.Control{{Name: "overlap", Min: 1}, {Name: "provider-failure", Min: 1}},
	}
}
