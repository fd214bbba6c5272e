// Package longkeysrunfree waits as wait does, and runs a request whose key is too
// long as if it had none.
//
// What is wrong: the client sent a key and got a success. It believes itself
// protected, sends the request again, and pays again.
//
// Seen in idempotency-kit.
//
// Right: refuse the key, or protect it. There is no third way.
package longkeysrunfree

import (
	"context"
	"unicode/utf8"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// Coordinator is wait with the treatment of long keys replaced.
type Coordinator struct{ core *reservation.Coordinator }

// New makes the coordinator.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	core, err := reservation.New(s, clk, reservation.DuplicatesWait, cfg)
	return &Coordinator{core}, err
}

// Do handles the request, once if its key fits.
func (c *Coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if utf8.RuneCountInString(req.Key) <= idempotency.MaxKey {
		return c.core.Do(ctx, req, act)
	}
	result, err := act(context.WithoutCancel(ctx))
	return idempotency.Outcome{Result: result, Source: idempotency.Executed}, err
}
