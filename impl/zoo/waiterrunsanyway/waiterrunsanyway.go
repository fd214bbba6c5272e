// Package waiterrunsanyway waits as wait does, and runs the action itself when it
// has waited long enough.
//
// What is wrong: that the owner is slow does not say that it is dead. It is
// charging, and the waiter charges beside it: a double charge with a delay.
//
// Seen in the class of Truxify 4696.
//
// Right: a waiter that gives up says "in progress" and changes nothing. Only the
// end of the lease makes a claim another's.
package waiterrunsanyway

import (
	"context"
	"errors"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// Coordinator is wait with the end of patience replaced.
type Coordinator struct {
	core     *reservation.Coordinator
	clk      clock.Clock
	patience time.Duration
	runFor   time.Duration
}

// New makes the coordinator.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*Coordinator, error) {
	cfg, err := cfg.WithPolicies(reservation.FailOpen, reservation.Release).WithDefaults()
	if err != nil {
		return nil, err
	}
	core, err := reservation.New(s, clk, reservation.DuplicatesWait, cfg)
	return &Coordinator{core: core, clk: clk, patience: cfg.WaitLimit, runFor: cfg.Lease}, err
}

// Do handles the request once, if that does not take too long.
func (c *Coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	tired, ran := c.clk.Now().Add(c.patience), false
	out, err := c.core.Do(ctx, req, func(ctx context.Context) ([]byte, error) {
		ran = true
		return act(ctx)
	})
	if ran || !errors.Is(err, idempotency.ErrInProgress) || c.clk.Now().Before(tired) {
		return out, err
	}
	return c.run(ctx, req, act)
}

// run executes beside the owner. The provider key is the first generation's: the
// owner's own, as far as one can know.
func (c *Coordinator) run(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	ctx, cancel := c.clk.WithDeadline(context.WithoutCancel(ctx), c.clk.Now().Add(c.runFor))
	defer cancel()
	result, err := act(idempotency.WithProviderKey(ctx, req.ProviderKey(1)))
	return idempotency.Outcome{Result: result, Source: idempotency.Executed}, err
}
