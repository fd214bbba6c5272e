// Package setthenexpire claims with one command and gives the claim its expiry
// with another.
//
// What is wrong: a process that dies, or a connection that breaks, between the two
// leaves a claim that never ends. The order can never be paid again, until
// somebody deletes the key by hand.
//
// Seen in locks of sidekiq's early days; redis-py pull request 902; beaker pull
// request 164.
//
// Right: one command for both, SET with NX and PX.
package setthenexpire

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// never is the expiry of a value that has none.
const never = 0

// New makes the coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	return plain.New(kv, clk, cfg, plain.Parts{Claim: claim})
}

func claim(ctx context.Context, a *plain.Attempt) (*plain.Value, error) {
	stands, err := a.Claim(ctx, a.Pending(), never)
	if stands != nil || err != nil {
		return stands, err
	}
	return nil, a.KV.Expire(ctx, a.Name, a.Config.Lease)
}
