// Package staletakeover takes an expired claim over without looking again.
//
// What is wrong: the end of the lease stands in the value, and the store's own
// expiry, a little later, only cleans up. A GET finds a claim that
// has ended, and a plain SET replaces it by the reader's own. The pause between the
// GET and the SET is what kills it: a garbage collection, a slow network, or no
// more than bad luck. In it the owner completes, or a third one takes over; the SET
// replaces that all the same, a result too, and the action runs again. (Besides,
// one machine's clock is compared with another's.)
//
// Seen in powertools-typescript, issue 5714.
//
// Right: take over on condition that what was read still stands there, in one step:
// a script, a conditional write, or an expiry that lets the store end the claim and
// SET NX to claim it anew.
package staletakeover

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// grace is by how much a claim outlives its lease, for others to see that it has
// ended.
const grace = time.Second

// New makes the coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	return plain.New(kv, clk, cfg, plain.Parts{Claim: claim})
}

func claim(ctx context.Context, a *plain.Attempt) (*plain.Value, error) {
	mine := a.Pending()
	mine.LeaseEnd = a.Clock.Now().Add(a.Config.Lease)
	ttl := a.Config.Lease + grace
	stands, err := a.Read(ctx)
	switch {
	case err != nil:
		return nil, err
	case stands == nil:
		return a.Claim(ctx, mine, ttl)
	case stands.State == store.Pending && stands.LeaseEnd.Before(a.Clock.Now()):
		return nil, a.Put(ctx, mine, ttl)
	}
	return stands, nil
}
