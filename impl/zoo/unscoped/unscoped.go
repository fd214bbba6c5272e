// Package unscoped waits as wait does, and leaves the operation out of the stored
// name.
//
// What is wrong: a client may use one key for an order and for its cancellation.
// The cancellation finds the order's record and is answered with its receipt; it
// is never made.
//
// Seen in hono-idempotency 126, gofiber and ArcadeDB 5023.
//
// Right: a key is unique per tenant and operation. All three are in the name.
package unscoped

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// Coordinator is wait with the stored name replaced.
type Coordinator struct{ core *reservation.Coordinator }

// New makes the coordinator.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	core, err := reservation.New(s, clk, reservation.DuplicatesWait, cfg)
	return &Coordinator{core}, err
}

// Do handles the request under its tenant and key alone.
func (c *Coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	req.Operation = ""
	return c.core.Do(ctx, req, act)
}
