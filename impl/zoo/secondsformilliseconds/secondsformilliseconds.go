// Package secondsformilliseconds sends a lease in milliseconds to a command that
// takes seconds.
//
// What is wrong: a lease of 30,000 ms becomes one of 30,000 s, a thousand times too
// long. Nothing shows it while workers live; when one dies, its key is blocked for
// eight hours instead of half a minute.
//
// Seen in powertools-java, issue 1281; powertools-typescript, IdempotencyHandler.
//
// Right: a type that carries its unit (time.Duration) up to the client library; and
// a test that looks at the expiry in the store.
package secondsformilliseconds

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	return plain.New(kv, clk, cfg, plain.Parts{Claim: claim})
}

func claim(ctx context.Context, a *plain.Attempt) (*plain.Value, error) {
	lease := a.Config.Lease.Milliseconds()
	return a.Claim(ctx, a.Pending(), time.Duration(lease)*time.Second)
}
