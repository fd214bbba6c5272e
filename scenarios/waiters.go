package scenarios

import (
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// concurrentReplays: many read one final at once.
func concurrentReplays() Scenario {
	return Scenario{
		Name:     "concurrent-replays",
		Title:    "ten retries at once after the first has been answered",
		Why:      "A final is final, for however many read it: each gets the same bytes, and none of them runs.",
		Steps:    []Step{Send{Client: "A"}, Join{}, Send{Client: "B", Times: 10}, Join{}, Settle{}},
		Exposes:  possibly("answer/replay-equal", "answer/one-fresh", "effect/at-most-once", "answer/loser", "claim/recovers", "answer/in-progress-true"),
		Stresses: []check.Stress{check.Replay},
		Controls: []history.Control{{Name: "overlap", Min: 1}, {Name: "charge", Min: 1}},
	}
}

// waiterGivesUp: patience ends before the charge does.
func waiterGivesUp() Scenario {
	return Scenario{
		Name:    "waiter-gives-up",
		Title:   "a duplicate's wait limit (100 ms) passes while the first attempt is running",
		Why:     "A waiter whose patience has ended says \"in progress\" and changes nothing. One that then runs the action itself is a second charge with a delay.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}, WaitLimit: 100 * time.Millisecond},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1},
			Send{Client: "B"}, WaitFor{Placed: true}, Pass{For: 300 * time.Millisecond}, WaitFor{Placed: true},
			Release{InTurn: true}, Join{}, Settle{},
		},
		Exposes:  join(surely("effect/at-most-once"), possibly("effect/silent-duplicate", "effect/accounted", "effect/no-overlap", "answer/loser", "answer/one-fresh", "answer/replay-equal")),
		Stresses: []check.Stress{check.Overlap, check.PatienceEnds},
		Controls: []history.Control{{Name: "overlap", Min: 1}},
	}
}

// ownerFails: ten wait, and the owner fails after it has charged.
func ownerFails() Scenario {
	return Scenario{
		Name:  "owner-fails",
		Title: "ten wait while the owner charges and then fails",
		Why: "When the owner fails, its waiters share the failure. If each of them became owner in turn, ten customers' patience " +
			"would become ten calls to a provider in trouble: and here the first has charged already.",
		Setting: Setting{
			Script: []fakeprovider.Behaviour{{Hold: true, Fail: fakeprovider.ErrorAfter}}, Provider: fakeprovider.Behaviour{Hold: true},
			Workers: []string{"w1", "w2"},
		},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1},
			Send{Client: "B", Times: 10}, WaitFor{Placed: true},
			Release{InTurn: true}, Join{}, Settle{},
		},
		Exposes:  join(surely("effect/at-most-once"), possibly("effect/no-overlap", "effect/unknown-stays-unknown", "effect/accounted", "effect/silent-duplicate", "answer/loser", "effect/failure-unbacked")),
		Stresses: []check.Stress{check.Overlap, check.ChargeHidden, check.OwnerFails},
		Controls: []history.Control{{Name: "overlap", Min: 10}, {Name: "provider-failure", Min: 1}},
	}
}

// ownerUnknown: ten wait, and nobody knows what the owner has done.
func ownerUnknown() Scenario {
	s := ownerFails()
	s.Name = "owner-unknown"
	s.Title = "ten wait while the owner charges and the provider's answer is lost"
	s.Why = "Nobody knows whether the owner has charged, and ten are waiting for it. If one of them runs now, it guesses: " +
		"not to know lasts until the lease ends, for those who wait as for those who come later."
	s.Setting.Script = []fakeprovider.Behaviour{{Hold: true, Fail: fakeprovider.LoseAnswer}}
	s.Exposes = join(surely("effect/at-most-once"), possibly("effect/unknown-stays-unknown", "effect/no-overlap", "effect/silent-duplicate", "answer/loser", "answer/in-progress-true"))
	s.Stresses = []check.Stress{check.Overlap, check.OwnerFails}
	return s
}

// manyKeys: thirty different keys at once, and each again.
func manyKeys() Scenario {
	return Scenario{
		Name:     "many-keys",
		Title:    "thirty different keys at once, then each again",
		Why:      "A record that is lost, or an answer that is mixed up under load, is a second charge or somebody else's receipt.",
		Setting:  Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps:    []Step{Many{Client: "A", Keys: 30}, WaitFor{Placed: true}, Release{All: true}, Join{}, Many{Client: "B", Keys: 30}, Join{}, Settle{}},
		Exposes:  possibly("effect/at-most-once", "answer/no-foreign", "effect/success-backed", "provider/key-distinct", "answer/replay-equal", "answer/one-fresh"),
		Stresses: []check.Stress{check.Replay},
		Controls: []history.Control{{Name: "parallel-calls", Min: 1}, {Name: "charge", Min: 30}},
	}
}
