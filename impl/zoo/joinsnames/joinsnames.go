// Package joinsnames waits as wait does, and builds the stored name by joining
// operation and key with a colon.
//
// What is wrong: operation "a" with key "b:c", and operation "a:b" with key "c",
// are both "a:b:c". The client chooses the key, so the client chooses whom to
// meet.
//
// Seen in the class of devlink 1195; hono-idempotency encodes its parts.
//
// Right: escape the separator, or say the length of each part before it, so that
// no two triples have one name.
package joinsnames

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

// Do handles the request under a joined name. The key is validated as it came; to
// the core the joined name is the operation, which may hold anything.
func (c *Coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if err := req.Validate(); err != nil {
		return idempotency.Outcome{}, err
	}
	req.Operation, req.Key = req.Operation+":"+req.Key, "-"
	return c.core.Do(ctx, req, act)
}
