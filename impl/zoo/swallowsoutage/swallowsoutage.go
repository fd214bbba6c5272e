// Package swallowsoutage runs although it is declared to fail closed.
//
// What is wrong: the store's error is caught, perhaps logged, and the request goes
// on as if the key had been claimed; and the answer says so too. While the store is
// down each retry is a charge, of which nobody knows that it was unprotected.
//
// Seen in grape-idempotency, issue 19.
//
// Right: fail closed answers that the store is unavailable, and nothing runs. Who
// prefers to run declares it, and marks the answer.
package swallowsoutage

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	return plain.New(kv, clk, cfg, plain.Parts{StoreDown: goOn})
}

func goOn(ctx context.Context, a *plain.Attempt, _ error) (idempotency.Outcome, error) {
	return a.Run(ctx, idempotency.Executed)
}
