package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// workerDeath: the owner dies while the provider is charging.
func workerDeath() Scenario {
	return Scenario{
		Name:    "worker-death",
		Title:   "the worker dies while charging; retry within the lease, and after it",
		Article: true,
		Why: "The charge commits, and nobody is left to write that down. Within the lease a retry must not run; after it " +
			"somebody must be able to, or the payment is stuck. So the request whose worker died is made at least once: " +
			"no coordinator can both recover and charge once here without the provider's help.",
		Setting: Setting{Workers: []string{"w1", "w2"}, Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A", Worker: "w1"}, WaitFor{Calls: 1},
			Kill{Worker: "w1"},
			Send{Client: "B", Worker: "w2"}, WaitFor{Placed: true},
			Release{Call: 1}, WaitFor{Charges: 1},
			Release{All: true},
			EndLeases{}, WaitFor{Answered: "B"},
			Send{Client: "C", Worker: "w2"}, Join{}, Settle{},
		},
		// The first client knows that its outcome is unknown, so no charge is silent.
		Exposes: join(surely("effect/at-most-once"),
			possibly("effect/silent-duplicate", "effect/accounted", "effect/no-overlap", "claim/mortal", "claim/recovers", "answer/in-progress-true", "answer/loser")),
		Stresses:    []check.Stress{check.OwnerDies, check.TwoWorkers},
		Controls:    []history.Control{{Name: "fault:worker-kill", Min: 1}, {Name: "charge", Min: 1}},
		AtLeastOnce: true,
	}
}
