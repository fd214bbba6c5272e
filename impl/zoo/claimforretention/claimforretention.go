// Package claimforretention lets a claim live as long as a result.
//
// What is wrong: there is one expiry for the key, and it is chosen for the result:
// 24 hours. If the worker dies, its claim stands for a day, and every retry of that
// day is told that the request is in progress.
//
// Seen in express-idempotency, issue 32; node-idempotency; dotnet-starter-kit, pull
// request 1333.
//
// Right: a claim lives for a lease, a little longer than the slowest honest
// attempt; only the result lives until retention ends.
package claimforretention

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	return plain.New(kv, clk, cfg, plain.Parts{Claim: claim})
}

func claim(ctx context.Context, a *plain.Attempt) (*plain.Value, error) {
	return a.Claim(ctx, a.Pending(), a.Config.Retention)
}
