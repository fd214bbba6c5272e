// Package releasewithouttoken refuses duplicates as raise does, and frees a key
// without asking whose claim it is.
//
// What is wrong: an action that failed deletes the record by its name. If its
// lease has ended meanwhile, the claim under that name is another's, who is
// charging at this moment; deleted, it lets a third request in beside the second.
//
// Seen in sidekiq-unique-jobs 94 and idempotency-kit. Neither hands a key on to
// the provider, and nor does this one: two runs are two orders there.
//
// Right: release only as owner. The token is compared in the same atomic step
// that frees the claim, and a late failure changes nothing.
package releasewithouttoken

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// Coordinator is raise with the release replaced.
type Coordinator struct{ core *reservation.Coordinator }

// New makes the coordinator; kv must be the same store as s.
func New(s store.Store, kv store.KV, clk clock.Clock, cfg reservation.Config) (*Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	core, err := reservation.New(byName{s, kv}, clk, reservation.DuplicatesRaise, cfg)
	return &Coordinator{core}, err
}

// Do handles the request without a key for the provider.
func (c *Coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	return c.core.Do(ctx, req, func(ctx context.Context) ([]byte, error) {
		return act(idempotency.WithProviderKey(ctx, ""))
	})
}

type byName struct {
	store.Store
	kv store.KV
}

func (s byName) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.To != store.Free {
		return s.Store.Settle(ctx, t)
	}
	err := s.kv.Delete(ctx, t.Name) // whose claim is it? nobody asks
	return store.Settled{Applied: err == nil}, err
}
