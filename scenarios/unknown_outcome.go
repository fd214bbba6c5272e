package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// unknownOutcome: the provider has charged, and its answer is lost.
func unknownOutcome() Scenario {
	return Scenario{
		Name:  "unknown-outcome",
		Title: "the provider charges and its answer is lost; retry within the lease",
		Why: "The connection broke after the request was sent: charged or not, nobody knows. To free the key would be a guess, " +
			"and the retry would charge again. Not to know is a state of its own.",
		Setting:  Setting{Script: []fakeprovider.Behaviour{{Fail: fakeprovider.LoseAnswer}}, Workers: []string{"w1", "w2"}},
		Steps:    []Step{Send{Client: "A"}, Join{}, Send{Client: "B", Worker: "w2"}, WaitFor{Answered: "B"}, Settle{}},
		Exposes:  join(surely("effect/unknown-stays-unknown", "effect/at-most-once"), possibly("effect/failure-unbacked", "answer/in-progress-true")),
		Stresses: []check.Stress{check.UnknownFreed},
		Controls: []history.Control{{Name: "provider-failure", Min: 1}, {Name: "charge", Min: 1}},
	}
}

// unknownOutcomeLate: and after the lease somebody must be able to go on.
func unknownOutcomeLate() Scenario {
	return Scenario{
		Name:  "unknown-outcome-late",
		Title: "the provider charges and its answer is lost; retry after the lease",
		Why: "When the lease has ended, a new attempt may take over. It can only be safe if the provider is asked with the same key: " +
			"one that honours it answers with the first charge, one that ignores it charges again.",
		Setting:     Setting{Script: []fakeprovider.Behaviour{{Fail: fakeprovider.LoseAnswer}}},
		Steps:       []Step{Send{Client: "A"}, Join{}, EndLeases{}, Send{Client: "B"}, Join{}, Settle{}},
		Exposes:     join(surely("effect/at-most-once"), possibly("effect/unknown-stays-unknown", "claim/recovers")),
		Stresses:    []check.Stress{check.ProviderUnknown},
		Controls:    []history.Control{{Name: "provider-failure", Min: 1}, {Name: "charge", Min: 1}},
		AtLeastOnce: true,
	}
}

// chargeThenError: an internal error that hides a charge.
func chargeThenError() Scenario {
	return Scenario{
		Name:  "charge-then-error",
		Title: "the provider charges and answers with an error; retry",
		Why: "A 500 does not say that nothing happened. Who frees the key on every error charges again; " +
			"who passes a key on to a provider that honours it does not.",
		Setting:     Setting{Script: []fakeprovider.Behaviour{{Fail: fakeprovider.ErrorAfter}}},
		Steps:       []Step{Send{Client: "A"}, Join{}, Send{Client: "B"}, WaitFor{Answered: "B"}, Settle{}},
		Exposes:     join(surely("effect/at-most-once"), possibly("effect/accounted", "effect/failure-unbacked", "effect/silent-duplicate", "claim/recovers", "error/not-pinned")),
		Stresses:    []check.Stress{check.ProviderUnknown, check.ChargeHidden},
		Controls:    []history.Control{{Name: "provider-failure", Min: 1}, {Name: "charge", Min: 1}},
		AtLeastOnce: true,
	}
}

// decline: a definitive no.
func decline() Scenario {
	return Scenario{
		Name:     "decline",
		Title:    "the provider declines, definitively; then again",
		Why:      "A decline is known to have had no effect: the key is free, the next try is a new try at the provider too, and no charge stands behind a failure.",
		Setting:  Setting{Script: []fakeprovider.Behaviour{{Fail: fakeprovider.Decline}}},
		Steps:    []Step{Send{Client: "A"}, Join{}, Send{Client: "B"}, Join{}, Settle{}},
		Exposes:  possibly("effect/failure-unbacked", "claim/recovers", "provider/key-stable", "effect/success-backed"),
		Stresses: []check.Stress{check.ProviderError},
		Controls: []history.Control{{Name: "provider-failure", Min: 1}},
	}
}
