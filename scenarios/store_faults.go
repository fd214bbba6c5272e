package scenarios

import (
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl/reservation"
)

// claimReplyLost: the claim was applied, and its owner does not know.
func claimReplyLost() Scenario {
	return Scenario{
		Name:  "claim-reply-lost",
		Title: "the claim is applied and its reply is lost; then a retry",
		Why: "The client of the store tries again, and meets a claim: its own. Who takes that for a rival answers \"in progress\" " +
			"for a whole lease, while nobody is working on it.",
		Steps:    []Step{LoseReply{Of: TheClaim}, Send{Client: "A"}, Join{}, Heal{}, Send{Client: "B"}, WaitFor{Answered: "B"}, Settle{}},
		Setting:  Setting{WaitLimit: 200 * time.Millisecond},
		Exposes:  join(surely("answer/in-progress-true"), possibly("claim/recovers", "effect/at-most-once", "effect/silent-duplicate", "effect/accounted")),
		Stresses: []check.Stress{check.ReplyLost},
		Controls: []history.Control{{Name: "fault:store-lose-reply", Min: 1}},
	}
}

// completionReplyLost: the result was written, and its owner does not know.
func completionReplyLost() Scenario {
	return Scenario{
		Name:     "completion-reply-lost",
		Title:    "the result is written and the reply is lost; then a retry",
		Why:      "Completing twice must be completing once, and a lost reply is no reason to give the key back: the charge is made.",
		Steps:    []Step{LoseReply{Of: TheCompletion}, Send{Client: "A"}, Join{}, Heal{}, Send{Client: "B"}, WaitFor{Answered: "B"}, Settle{}},
		Setting:  Setting{WaitLimit: 200 * time.Millisecond},
		Exposes:  possibly("effect/at-most-once", "record/final-is-final", "answer/replay-equal", "effect/accounted", "effect/silent-duplicate", "answer/in-progress-true", "answer/one-fresh"),
		Stresses: []check.Stress{check.ReplyLost},
		Controls: []history.Control{{Name: "fault:store-lose-reply", Min: 1}},
	}
}

// completionCut: the result cannot be written, but everything else can.
func completionCut() Scenario {
	return Scenario{
		Name:  "completion-cut",
		Title: "the result cannot be written; retry within the lease",
		Why: "The charge is made and the record is not. Whoever deletes its claim now, because \"it failed\", lets the next retry charge at once; " +
			"left in place, the claim still guards the key until its lease ends.",
		Steps: []Step{
			CutBefore{Of: TheCompletion}, Send{Client: "A"}, WaitFor{Answered: "A"}, Heal{},
			Send{Client: "B"}, WaitFor{Answered: "B"}, Settle{},
		},
		Setting:  Setting{WaitLimit: 200 * time.Millisecond, Takes: time.Second},
		Exposes:  join(surely("effect/at-most-once"), possibly("answer/one-fresh", "answer/replay-equal", "claim/recovers", "effect/accounted", "effect/silent-duplicate")),
		Stresses: []check.Stress{check.CompletionLost, check.PatienceEnds},
		Controls: []history.Control{{Name: "fault:store-cut-before", Min: 1}, {Name: "charge", Min: 1}},
	}
}

// storeBlip: the connection breaks between claim and charge, and is back.
func storeBlip() Scenario {
	return Scenario{
		Name:    "store-blip",
		Title:   "the store is down for a moment between claim and charge; retry",
		Why:     "Every connection to the store breaks while the provider is charging, and comes back. The owner still owns its claim, and completes.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1}, StoreDown{}, StoreUp{},
			Release{All: true}, Join{}, Send{Client: "B"}, Join{}, Settle{},
		},
		Exposes:  possibly("effect/at-most-once", "answer/replay-equal", "claim/recovers", "answer/one-fresh", "effect/silent-duplicate", "effect/accounted"),
		Stresses: []check.Stress{check.StoreBlip},
		Controls: []history.Control{{Name: "fault:store-down", Min: 1}, {Name: "charge", Min: 1}},
	}
}

// storeDownPastLease: down from before the charge until after the lease.
func storeDownPastLease() Scenario {
	return Scenario{
		Name:  "store-down-past-lease",
		Title: "the store is down from before the charge until after the lease; then a retry",
		Why: "The charge is made, nothing could be written, and the lease has ended when the store is back. What is left is a claim " +
			"whose owner may have charged: only the provider knows.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}, Takes: time.Second},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1}, StoreDown{}, Release{All: true}, WaitFor{Answered: "A"},
			EndLeases{}, StoreUp{}, Send{Client: "B"}, Join{}, Settle{},
		},
		Exposes:     join(surely("effect/at-most-once"), possibly("answer/one-fresh", "answer/replay-equal", "claim/recovers", "effect/accounted", "effect/silent-duplicate")),
		Stresses:    []check.Stress{check.DownPastLease},
		Controls:    []history.Control{{Name: "fault:store-down", Min: 1}, {Name: "store-error", Min: 1}, {Name: "charge", Min: 1}},
		AtLeastOnce: true,
	}
}

// storeDownAtRelease: a failure without effect that cannot be written down.
func storeDownAtRelease() Scenario {
	return Scenario{
		Name:  "store-down-at-release",
		Title: "the provider fails without effect while the store is down; retry after the lease",
		Why:   "The claim could not be released. It is the lease that gives the key back, and nothing may be stuck for longer.",
		Setting: Setting{Takes: time.Second,
			Script: []fakeprovider.Behaviour{{Hold: true, Fail: fakeprovider.Decline}}},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1}, StoreDown{}, Release{All: true}, WaitFor{Answered: "A"},
			EndLeases{}, StoreUp{}, Send{Client: "B"}, Join{}, Settle{},
		},
		Exposes:  possibly("claim/recovers", "effect/failure-unbacked", "effect/at-most-once", "error/not-pinned"),
		Stresses: []check.Stress{check.StoreBlip},
		Controls: []history.Control{{Name: "fault:store-down", Min: 1}, {Name: "provider-failure", Min: 1}},
	}
}

// redisDownRetry: what failing open costs.
func redisDownRetry() Scenario {
	return Scenario{
		Name:        "redis-down-retry",
		Title:       "the store is down for the attempt and its retry, policy: fail open",
		Why:         "Failing open is at-least-once: without a record the retry is a new request. Only the provider's own key could tell.",
		Setting:     Setting{StoreDown: reservation.FailOpen},
		Steps:       []Step{StoreDown{}, Send{Client: "A"}, Join{}, Send{Client: "B"}, Join{}, StoreUp{}, Settle{}},
		Exposes:     join(surely("effect/at-most-once"), possibly("answer/replay-equal", "answer/one-fresh", "effect/silent-duplicate", "store/outage-policy")),
		Stresses:    []check.Stress{check.StoreDown},
		Controls:    []history.Control{{Name: "fault:store-down", Min: 1}, {Name: "store-error", Min: 2}},
		AtLeastOnce: true,
	}
}

// slowBurst: the amplifier. Looking and setting are 20 ms apart, so finding the
// race is no matter of luck.
func slowBurst() Scenario {
	return Scenario{
		Name:  "burst-slow-store",
		Title: "5 clients, one key, at once, with every reply of the store 20 ms late",
		Why: "Between looking and setting there are microseconds, and on a bad day there are more. A real service was seen to charge twice in " +
			"4 of 10 bursts of two; with late replies the same race is certain.",
		Setting:  Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps:    []Step{SlowStore{By: 20 * time.Millisecond}, Send{Client: "C", Times: 5}, WaitFor{Calls: 1, Placed: true}, Release{InTurn: true}, Join{}, Heal{}, Settle{}},
		Exposes:  join(surely("effect/at-most-once", "effect/silent-duplicate", "effect/accounted"), possibly("effect/no-overlap", "answer/replay-equal", "answer/loser", "answer/one-fresh", "answer/in-progress-true")),
		Stresses: []check.Stress{check.Overlap},
		Controls: []history.Control{{Name: "overlap", Min: 4}, {Name: "fault:store-slow", Min: 1}},
	}
}

// payloadRace: two payloads under one key, in one moment.
func payloadRace() Scenario {
	return Scenario{
		Name:    "payload-race",
		Title:   "same key, amounts 100 and 5, at once, with every reply of the store 20 ms late",
		Why:     "Whoever comes first has the key; the other is refused, whatever is known of the first by then. Never two charges, never the other's receipt.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			SlowStore{By: 20 * time.Millisecond}, Send{Client: "A"}, Send{Client: "B", Ref: "r2", Amount: 5},
			WaitFor{Calls: 1, Placed: true}, Heal{}, Release{InTurn: true}, Join{}, Settle{},
		},
		Exposes:  join(surely("reuse/refused"), possibly("answer/no-foreign", "effect/success-backed", "effect/accounted", "effect/failure-unbacked", "effect/silent-duplicate")),
		Stresses: []check.Stress{check.PayloadVaries, check.Overlap},
		Controls: []history.Control{{Name: "overlap", Min: 1}, {Name: "fault:store-slow", Min: 1}},
	}
}

// hangUpBefore: the client leaves before its claim has reached the store.
func hangUpBefore() Scenario {
	return Scenario{
		Name:  "hang-up-before",
		Title: "the client hangs up while its claim is on the way; retry",
		Why:   "A claim that arrives when its client has gone must not hold the key with nobody behind it, and its request must not be made twice.",
		Steps: []Step{
			HoldStore{Of: TheClaim}, Send{Client: "A"}, Held{}, HangUp{Client: "A"}, WaitFor{Answered: "A"}, Heal{}, Idle{},
			Send{Client: "B"}, Join{}, Settle{},
		},
		Exposes:  possibly("client/abort-safe", "effect/at-most-once", "claim/recovers", "answer/in-progress-true", "effect/accounted"),
		Stresses: []check.Stress{check.ClientLeaves},
		Controls: []history.Control{{Name: "hang-up", Min: 1}, {Name: "fault:store-hold", Min: 1}},
	}
}

// longPastLease: whoever ends its action with its lease has answered by then, on a
// machine that is overloaded, too.
const longPastLease = realLease + 2200*time.Millisecond

// chargeThenHang: the provider charges and does not answer.
func chargeThenHang() Scenario {
	return Scenario{
		Name:  "charge-then-hang",
		Title: "the provider charges and does not answer; retry after the lease (2 s, real time)",
		Why: "A call without end must not be a claim without end, nor one that a retry runs past. Either the action ends before its lease does, " +
			"or the lease is renewed while it runs; the outcome is unknown.",
		Setting: Setting{Script: []fakeprovider.Behaviour{{HoldAfter: true, Fail: fakeprovider.LoseAnswer}}, Lease: realLease,
			WaitLimit: 200 * time.Millisecond, RealTime: true, Takes: longPastLease},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Charges: 1}, Pass{For: longPastLease}, HangUp{Client: "A"}, WaitFor{Answered: "A"},
			Send{Client: "B"}, WaitFor{Answered: "B"}, Release{All: true}, Join{}, Settle{},
		},
		Exposes:     join(surely("effect/at-most-once"), possibly("effect/unknown-stays-unknown", "effect/silent-duplicate", "effect/accounted", "claim/recovers", "client/abort-safe", "effect/no-overlap")),
		Stresses:    []check.Stress{check.ProviderUnknown, check.ClientLeaves},
		Controls:    []history.Control{{Name: "charge", Min: 1}, {Name: "execution", Min: 1}},
		AtLeastOnce: true,
	}
}
