// Package completewithouttoken refuses duplicates as raise does, and stores its
// result over whatever stands under the key.
//
// What is wrong: an owner that was overtaken writes all the same. It wipes out
// the new owner's claim, or its result; each of the two is answered with a charge
// of its own, and nobody reports the second one, for nobody notices that he was
// late.
//
// Seen in idempotency-kit, node-idempotency and hono-idempotency.
//
// Right: complete only as owner, compared in the same atomic step. Who comes too
// late answers what stands, and reports its own effect as an orphan.
package completewithouttoken

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator; kv must be the same store as s.
func New(s store.Store, kv store.KV, clk clock.Clock, cfg reservation.Config) (*reservation.Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	return reservation.New(overwriting{s, kv}, clk, reservation.DuplicatesRaise, cfg)
}

type overwriting struct {
	store.Store
	kv store.KV
}

func (s overwriting) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	settled, err := s.Store.Settle(ctx, t)
	if err != nil || settled.Applied || t.To != store.Done {
		return settled, err
	}
	if err := s.kv.Delete(ctx, t.Name); err != nil { // another's claim, or a final: out of the way
		return store.Settled{}, err
	}
	return s.Store.Settle(ctx, t)
}
