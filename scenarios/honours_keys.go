package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// The scenarios below are those in which no coordinator can both recover and
// charge once, with the one thing that helps: a provider that honours keys. Who
// hands on the same key for the same request charges once even here; who hands on
// none, or another, shows it.

const keysWhy = " The provider here answers a second call with one key by the outcome of the first, or by: it is still running. " +
	"So whoever hands a key on can ask instead of guessing."

// honoursKeys is what all three expose: charges surely, the key's laws possibly.
func honoursKeys(more ...string) []check.Exposure {
	return join(surely("effect/at-most-once"), possibly("effect/silent-duplicate", "effect/accounted", "effect/no-overlap", "provider/key-stable"), possibly(more...))
}

// leaseOverrunKeys: the second worker asks while the first call is running, and a
// third client asks again when it is over.
func leaseOverrunKeys() Scenario {
	return Scenario{
		Name:    "lease-overrun-keys",
		Title:   "as lease-overrun, with a provider that honours keys; then a third client, after the second's lease",
		Why:     overrunWhy + "here it is there." + keysWhy,
		Setting: Setting{HonoursKeys: true, Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: join(overrun(), []Step{
			Release{Call: 1}, WaitFor{Answered: "A"},
			Release{All: true}, WaitFor{Answered: "B"},
			EndLeases{}, Send{Client: "C"}, Join{}, Settle{},
		}),
		Exposes: honoursKeys("claim/fenced", "claim/recovers", "answer/replay-equal", "answer/in-progress-true", "answer/loser",
			"record/final-is-final", "effect/unknown-stays-unknown"),
		Stresses: []check.Stress{check.LeaseOverrun, check.Overlap},
		Controls: []history.Control{{Name: "provider-call", Min: 1}, {Name: "overlap", Min: 1}},
	}
}

// workerDeathKeys: the dead worker's charge is found by asking.
func workerDeathKeys() Scenario {
	s := workerDeath()
	s.Name = "worker-death-keys"
	s.Title = "the worker dies while charging; retry within the lease, and after it; the provider honours keys"
	s.Why = "The charge commits, and nobody is left to write that down. Within the lease a retry must not run; after it somebody asks." + keysWhy
	s.Article = false
	s.Setting.HonoursKeys = true
	s.Exposes = honoursKeys("claim/mortal", "claim/recovers", "answer/in-progress-true", "answer/loser")
	s.AtLeastOnce = false
	return s
}

// unknownOutcomeKeys: the lost answer is given again.
func unknownOutcomeKeys() Scenario {
	s := unknownOutcomeLate()
	s.Name = "unknown-outcome-keys"
	s.Title = "the provider charges and its answer is lost; retry after the lease; the provider honours keys"
	s.Why = "Charged or not, nobody knows: but the provider does, and it can be asked." + keysWhy
	s.Setting.HonoursKeys = true
	s.Exposes = honoursKeys("effect/unknown-stays-unknown", "claim/recovers")
	s.Controls = []history.Control{{Name: "provider-failure", Min: 1}, {Name: "provider-call", Min: 2}}
	s.AtLeastOnce = false
	return s
}
