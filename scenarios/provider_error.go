package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// providerError is the article's table 3.
func providerError() Scenario {
	return Scenario{
		Name:    "provider-error",
		Title:   "the provider times out and charges nothing; then again",
		Article: true,
		Why: "A failure without effect must not be remembered: a cached error turns a passing fault into " +
			"a payment that cannot be made until the key expires.",
		Setting:  Setting{Script: []fakeprovider.Behaviour{{Fail: fakeprovider.TimeoutBefore}}},
		Steps:    []Step{Send{Client: "A"}, Join{}, Send{Client: "B"}, Join{}, Settle{}},
		Exposes:  possibly("error/not-pinned", "claim/recovers", "effect/failure-unbacked"),
		Stresses: []check.Stress{check.ProviderError},
		Controls: []history.Control{{Name: "provider-failure", Min: 1}},
	}
}
