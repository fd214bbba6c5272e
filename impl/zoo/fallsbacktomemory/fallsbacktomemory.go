// Package fallsbacktomemory keeps its records in memory while the store is down.
//
// What is wrong: it is declared to fail closed: without protection nothing runs.
// When the store is down it takes a map in this process's memory instead, and says
// so to nobody. The other workers do not see that map; after a restart this one
// does not either; and when the store is back it knows nothing of what was done.
//
// Seen in PraisonAI, issue 4768.
//
// Right: do what was declared. Fail closed is an error that a client can retry; who
// prefers to run says so, and marks the answer as unprotected.
package fallsbacktomemory

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
)

// New makes one process's coordinator, with a memory of its own.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	inMemory, err := plain.New(memstore.New(clk), clk, cfg, plain.Parts{})
	if err != nil {
		return nil, err
	}
	fallBack := func(ctx context.Context, a *plain.Attempt, _ error) (idempotency.Outcome, error) {
		return inMemory.Do(ctx, a.Req, a.Act)
	}
	return plain.New(kv, clk, cfg, plain.Parts{StoreDown: fallBack})
}
