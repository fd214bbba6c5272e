package scenarios

import (
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl/reservation"
)

// hangUpRetry: the retry comes while the charge of the client that left is still
// being made. That is when people retry.
func hangUpRetry() Scenario {
	return Scenario{
		Name:  "hang-up-retry",
		Title: "the client hangs up while the provider is charging; retry while it still is",
		Why: "Whoever gives the key back because the client has left, gives it to the retry, while the charge goes on. " +
			"When all is over the record is there, and everything looks well.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1}, HangUp{Client: "A"}, WaitFor{Answered: "A"},
			Pass{For: 50 * time.Millisecond}, // whoever tidies up has done so
			Send{Client: "B"}, WaitFor{Placed: true},
			Release{InTurn: true}, Join{}, Idle{}, Send{Client: "C"}, Join{}, Settle{},
		},
		Exposes:  join(surely("client/abort-safe", "effect/at-most-once"), possibly("effect/accounted", "effect/silent-duplicate", "effect/no-overlap", "answer/replay-equal")),
		Stresses: []check.Stress{check.ClientLeaves, check.Overlap},
		Controls: []history.Control{{Name: "hang-up", Min: 1}, {Name: "fault:provider-release", Min: 1}},
	}
}

// waitersGone: those who wait leave, or give up, and another comes.
func waitersGone() Scenario {
	return Scenario{
		Name:  "waiters-gone",
		Title: "one duplicate hangs up and another's wait limit (100 ms) passes; a third comes while the first attempt is still running",
		Why: "Who waits owns nothing, so whoever stops waiting gives nothing back. If it tidies up the claim it has waited for, " +
			"the next one finds the key free, and charges beside the owner.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}, WaitLimit: 100 * time.Millisecond},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1},
			Send{Client: "B"}, WaitFor{Placed: true}, HangUp{Client: "B"}, WaitFor{Answered: "B"},
			Send{Client: "C"}, WaitFor{Placed: true}, Pass{For: 300 * time.Millisecond}, WaitFor{Placed: true},
			Send{Client: "D"}, WaitFor{Placed: true},
			Release{InTurn: true}, Join{}, Settle{},
		},
		Exposes:  join(surely("effect/at-most-once"), possibly("client/abort-safe", "effect/silent-duplicate", "effect/accounted", "effect/no-overlap", "answer/loser", "answer/one-fresh", "answer/replay-equal")),
		Stresses: []check.Stress{check.Overlap, check.PatienceEnds, check.WaiterLeaves},
		Controls: []history.Control{{Name: "overlap", Min: 2}},
	}
}

// ownerFailsRetry: the failure is over when everybody has been told.
func ownerFailsRetry() Scenario {
	return Scenario{
		Name:    "owner-fails-retry",
		Title:   "ten wait while the owner fails without effect; then a retry",
		Why:     "A failure is shared by those who waited for it, and by nobody else: who comes afterwards tries anew.",
		Setting: Setting{Script: []fakeprovider.Behaviour{{Hold: true, Fail: fakeprovider.ErrorBefore}}, Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1},
			Send{Client: "B", Times: 10}, WaitFor{Placed: true},
			Release{InTurn: true}, Join{}, Send{Client: "C"}, Join{}, Settle{},
		},
		Exposes:  possibly("error/not-pinned", "effect/at-most-once", "effect/no-overlap", "answer/loser", "answer/in-progress-true", "claim/recovers"),
		Stresses: []check.Stress{check.Overlap, check.ProviderError},
		Controls: []history.Control{{Name: "overlap", Min: 10}, {Name: "provider-failure", Min: 1}},
	}
}

// chargeThenErrorKeys: an internal error after the charge, from a provider that
// keeps what came of a key.
func chargeThenErrorKeys() Scenario {
	s := chargeThenError()
	s.Name = "charge-then-error-keys"
	s.Title = "the provider charges and answers with an error; retry; the provider honours keys"
	s.Why = "A 500 does not say that nothing happened, so a retry has to come with the same key." + keysWhy
	s.Setting.HonoursKeys = true
	s.Exposes = honoursKeys("effect/failure-unbacked", "error/not-pinned")
	s.AtLeastOnce = false
	return s
}

// tenantsInFlight: one key under two tenants and two operations, at once.
func tenantsInFlight() Scenario {
	return Scenario{
		Name:    "tenants-in-flight",
		Title:   "one key under two tenants and two operations at once, with the same payload",
		Why:     "Records may be kept apart, and what is in flight not: a lock by the bare key lets one tenant wait for the other, or gives it the other's receipt.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A", Tenant: "acme"}, WaitFor{Calls: 1},
			Send{Client: "B", Tenant: "globex", Ref: "r2"}, WaitFor{Placed: true},
			Send{Client: "C", Tenant: "acme", Operation: "refund", Ref: "r3"}, WaitFor{Placed: true},
			Release{All: true}, Join{}, Settle{},
		},
		Exposes:  possibly("scope/isolated", "answer/no-foreign", "effect/success-backed", "provider/key-distinct", "answer/in-progress-true"),
		Stresses: []check.Stress{check.NamesVary},
		Controls: []history.Control{{Name: "charge", Min: 1}},
	}
}

// payloadAfterUnknown: a key whose outcome nobody knows still has its payload.
func payloadAfterUnknown() Scenario {
	return Scenario{
		Name:    "payload-after-unknown",
		Title:   "the provider charges and its answer is lost; then the same key, amount 5",
		Why:     "What is unknown is the outcome, not the request. Told to try again later, the second order would try for ever.",
		Setting: Setting{Script: []fakeprovider.Behaviour{{Fail: fakeprovider.LoseAnswer}}},
		Steps: []Step{
			Send{Client: "A"}, Join{},
			Send{Client: "B", Ref: "r2", Amount: 5}, WaitFor{Answered: "B"}, Settle{},
		},
		Exposes:  possibly("reuse/refused", "effect/success-backed", "answer/no-foreign", "effect/accounted", "provider/key-distinct"),
		Stresses: []check.Stress{check.PayloadVaries, check.UnknownFreed},
		Controls: []history.Control{{Name: "provider-failure", Min: 1}, {Name: "charge", Min: 1}},
	}
}

// waiterOutage: the store goes away under those who wait.
func waiterOutage() Scenario {
	return Scenario{
		Name:  "waiter-outage",
		Title: "the store goes down while a duplicate waits for the first attempt, policy: fail open",
		Why: "Failing open is for those who know nothing. Who has seen that somebody is charging knows better, " +
			"and must not run beside it because the store has gone away since.",
		Setting: Setting{Workers: []string{"w1", "w2"}, StoreDown: reservation.FailOpen, Provider: fakeprovider.Behaviour{Hold: true}, Takes: 1300 * time.Millisecond},
		Steps: []Step{
			Send{Client: "A", Worker: "w1"}, WaitFor{Calls: 1},
			Send{Client: "B", Worker: "w2"}, WaitFor{Placed: true},
			Pass{For: 300 * time.Millisecond}, // it says that it will wait a moment before it does
			StoreDown{}, Pass{For: time.Second}, WaitFor{Placed: true}, StoreUp{},
			Release{InTurn: true}, Join{}, Settle{},
		},
		Exposes:  join(surely("effect/at-most-once"), possibly("effect/no-overlap", "effect/silent-duplicate", "effect/accounted", "answer/replay-equal", "answer/one-fresh", "answer/loser")),
		Stresses: []check.Stress{check.Overlap, check.TwoWorkers},
		Controls: []history.Control{{Name: "overlap", Min: 1}, {Name: "fault:store-down", Min: 1}},
	}
}

// staleLookup: a look-up that is no longer true when it is acted upon.
func staleLookup() Scenario {
	return Scenario{
		Name:  "stale-lookup",
		Title: "a second worker freezes just after its first look at the store; the first attempt completes; it goes on",
		Why: "Look up, then lock, then run: between the look and the lock the first attempt has completed and unlocked. " +
			"Who does not look again under the lock, charges again.",
		Setting: Setting{Workers: []string{"w1", "w2"}, Script: []fakeprovider.Behaviour{{Hold: true}}},
		Steps: []Step{
			Send{Client: "A", Worker: "w1"}, WaitFor{Calls: 1},
			Pause{Worker: "w2", AfterCalls: 1}, Send{Client: "B", Worker: "w2"}, WaitFor{Paused: "w2"},
			Release{All: true}, WaitFor{Answered: "A"},
			Resume{Worker: "w2"}, Join{}, Settle{},
		},
		Exposes:  join(surely("effect/at-most-once"), possibly("effect/silent-duplicate", "effect/accounted", "answer/replay-equal", "answer/one-fresh", "answer/loser", "record/final-is-final", "record/retained")),
		Stresses: []check.Stress{check.Overlap, check.TwoWorkers},
		Controls: []history.Control{{Name: "fault:worker-paused", Min: 1}, {Name: "overlap", Min: 1}},
	}
}

// completionHeld: a second worker comes between the charge and its record.
func completionHeld() Scenario {
	return Scenario{
		Name:  "completion-held",
		Title: "the result is held on its way to the store; a duplicate on another worker meanwhile",
		Why: "The charge is made and the record is not there yet. Who unlocks first and stores then, opens the key just here; " +
			"and who tells the result before it is stored, tells what a crash would undo.",
		Setting: Setting{Workers: []string{"w1", "w2"}},
		Steps: []Step{
			HoldStore{Of: TheCompletion}, Send{Client: "A", Worker: "w1"}, Held{},
			Send{Client: "B", Worker: "w2"}, WaitFor{Placed: true},
			Heal{}, Join{}, Settle{},
		},
		Exposes:  join(surely("effect/at-most-once"), possibly("effect/silent-duplicate", "effect/accounted", "answer/replay-equal", "answer/one-fresh", "answer/loser", "record/final-is-final")),
		Stresses: []check.Stress{check.Overlap, check.TwoWorkers},
		Controls: []history.Control{{Name: "fault:store-hold", Min: 1}, {Name: "overlap", Min: 1}},
	}
}
