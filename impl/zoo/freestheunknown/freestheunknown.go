// Package freestheunknown waits as wait does, and frees the key after an outcome
// that is known to be unknown.
//
// What is wrong: "the connection broke after the request was sent" is taken for
// a failure like any other. The key is free at once, the client retries at once,
// and charges again where the first charge stands.
//
// Seen in autumn pull request 1851 and idempotency-kit.
//
// Right: unknown is a state of its own. It keeps the key until its lease ends;
// then the provider is asked, with the same provider key.
package freestheunknown

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*reservation.Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	return reservation.New(sure{s}, clk, reservation.DuplicatesWait, cfg)
}

// sure knows two ends of an action only: it worked, or it did not.
type sure struct{ store.Store }

func (s sure) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.To == store.Unknown {
		t.To = store.Free
	}
	return s.Store.Settle(ctx, t)
}
