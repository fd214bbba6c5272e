// Package oversizerunsagain does not store a result that is over the limit.
//
// What is wrong: the result is too large to keep, so nothing is kept, and the claim
// is given back. The next retry finds a free key, and charges. The largest orders
// are the ones that are paid twice.
//
// Seen in idempotency-guard; celeris.
//
// Right: remember that it was done, if not what came of it. The retry is told that
// the result is too large to give back; or it is kept elsewhere, and the record
// refers to it.
package oversizerunsagain

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
	if len(result) > a.Config.MaxResult {
		return nil, a.Release(ctx)
	}
	return a.Complete(ctx, result)
}
