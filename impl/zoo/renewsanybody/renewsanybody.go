// Package renewsanybody waits as wait does, keeps its lease up while the action
// runs, and does not ask whose lease that is.
//
// What is wrong: the heartbeat is an EXPIRE by name. An owner that was frozen and
// overtaken goes on to renew, and now it is the new owner's claim: that one may be
// dead, and its key stays taken for as long as the old one runs. And the old one
// never learns that it has lost its claim, so it does not stop.
//
// Seen in idempotency4j.
//
// Right: renew only as owner, by token in the same atomic step; a renewal that
// finds another's claim ends the action's context (store.ErrLeaseLost).
package renewsanybody

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// Leases is for how many leases one execution is kept up.
const Leases = 4

// New makes the coordinator.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*reservation.Coordinator, error) {
	cfg, err := cfg.WithPolicies(reservation.FailOpen, reservation.Release).WithDefaults()
	if err != nil {
		return nil, err
	}
	cfg.MaxRun = Leases * cfg.Lease
	return reservation.New(byName{s}, clk, reservation.DuplicatesWait, cfg)
}

type byName struct{ store.Store }

func (s byName) Keep(ctx context.Context, r store.Renewal) (context.Context, func()) {
	r.Token = ""
	return s.Store.Keep(ctx, r)
}
