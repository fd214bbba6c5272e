package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl/reservation"
)

// redisDown is the article's table 4: fail open.
func redisDown() Scenario {
	return Scenario{
		Name:    "redis-down",
		Title:   "the store is down for the whole attempt, policy: fail open",
		Article: true,
		Why: "The store refuses connections. Failing open means that the payment is made all the same, unprotected: " +
			"availability over exactly-once, on purpose. A retry during the outage would charge again; the provider's own key is the second layer.",
		Setting:  Setting{StoreDown: reservation.FailOpen},
		Steps:    []Step{StoreDown{}, Send{Client: "A"}, Join{}, StoreUp{}, Settle{}},
		Exposes:  possibly("store/outage-policy", "effect/success-backed"),
		Stresses: []check.Stress{check.StoreDown},
		Controls: []history.Control{{Name: "fault:store-down", Min: 1}, {Name: "store-error", Min: 1}},
	}
}

// redisDownClosed is the other policy, and the recovery.
func redisDownClosed() Scenario {
	return Scenario{
		Name:    "redis-down-closed",
		Title:   "the store is down, policy: fail closed; retry when it is back",
		Article: true,
		Why: "Failing closed means that nothing runs without protection: the client is told to come back (HTTP 503), " +
			"and nothing may be stuck when it does.",
		Setting:  Setting{StoreDown: reservation.FailClosed},
		Steps:    []Step{StoreDown{}, Send{Client: "A"}, Join{}, StoreUp{}, Send{Client: "B"}, Join{}, Settle{}},
		Exposes:  possibly("store/outage-policy", "claim/recovers", "effect/failure-unbacked"),
		Stresses: []check.Stress{check.StoreDown},
		Controls: []history.Control{{Name: "fault:store-down", Min: 1}, {Name: "store-error", Min: 1}, {Name: "charge", Min: 1}},
	}
}
