// Package forgetsearly keeps a result only as long as a lease.
//
// What is wrong: there is one expiry for the key, and it is chosen for the claim:
// 30 seconds. The batch that is rerun the next day, the phone that comes out of the
// tunnel, the queue that delivers again: each is a new payment.
//
// Seen in idempo, whose default is 30 s.
//
// Right: two expiries. The result outlives the latest possible retry; 24 hours is
// usual.
package forgetsearly

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	return plain.New(kv, clk, cfg, plain.Parts{Complete: complete})
}

func complete(ctx context.Context, a *plain.Attempt, result []byte) (*plain.Value, error) {
	return a.Settle(ctx, a.Done(result), a.Config.Lease)
}
