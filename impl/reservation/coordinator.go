// Package reservation is the one implementation of claim, run, complete and
// release. The coordinators wait, raise and fenced are this one with other
// settings; read [Coordinator.Do] first, then attempt.handle, then attempt.run.
//
// It refuses to start goroutines, to sleep and to select: all blocking goes
// through a port (the store, the clock, the action), so that a scheduler can
// tell waiting from thinking. It has no test hooks; who wants to watch or to
// disturb wraps a port. And it never compares two machines' clocks: a lease ends
// by the store's time, and this side only bounds how long it dares to run.
package reservation

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store"
)

// Coordinator handles requests once, by reserving the key before it runs. It is
// safe for concurrent use.
type Coordinator struct {
	store      store.Store
	clk        clock.Clock
	duplicates Duplicates
	cfg        Config
	counts     counters
}

var _ idempotency.Coordinator = (*Coordinator)(nil)

// New makes a coordinator on a store. It returns a ConfigError for a
// configuration out of range.
func New(s store.Store, clk clock.Clock, d Duplicates, cfg Config) (*Coordinator, error) {
	if s == nil || clk == nil {
		return nil, errors.New("reservation: a store and a clock are needed")
	}
	if d != DuplicatesWait && d != DuplicatesRaise {
		return nil, fmt.Errorf("reservation: duplicates %q is neither %q nor %q", d, DuplicatesWait, DuplicatesRaise)
	}
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &Coordinator{store: s, clk: clk, duplicates: d, cfg: cfg}, nil
}

// Do handles the request once. A call that waits returns as soon as its context
// ends; a call that runs the action returns when the action and its completion
// have ended, whatever its context says. A request that is not valid never
// reaches the store.
func (c *Coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if err := req.Validate(); err != nil {
		c.counts.refused.Add(1)
		return idempotency.Outcome{}, err
	}
	a := c.newAttempt(req, act)
	out, err := a.handle(ctx)
	c.counts.answered(out, err, a.ran)
	return out, err
}
