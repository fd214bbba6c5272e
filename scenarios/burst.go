package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// burst: twenty at once. The first call is held until the others are placed, so
// that finding the race is no matter of luck.
func burst() Scenario {
	return Scenario{
		Name:  "burst",
		Title: "20 clients, one key, at once",
		Why: "A queue that redelivers, a button pressed in anger, a load balancer that retries: many identical requests in one moment. " +
			"Whoever looks before anybody has written, charges.",
		Setting:  Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps:    []Step{Send{Client: "C", Times: 20}, WaitFor{Calls: 1, Placed: true}, Release{InTurn: true}, Join{}, Settle{}},
		Exposes:  join(surely(doubled()...), possibly("answer/replay-equal", "answer/loser", "answer/one-fresh")),
		Stresses: []check.Stress{check.Overlap},
		Controls: []history.Control{{Name: "overlap", Min: 19}, {Name: "fault:provider-release", Min: 1}},
	}
}
