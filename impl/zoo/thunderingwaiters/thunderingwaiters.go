// Package thunderingwaiters waits as wait does, and when the owner fails its
// waiters take turns.
//
// What is wrong: each of those who waited becomes owner and calls the provider,
// one after the other, also when the failed owner has charged and when nobody
// knows whether it has. Ten customers' patience becomes ten calls to a provider
// that is in trouble, and ten charges.
//
// Seen in idempotency-kit.
//
// Right: who waited shares the owner's failure, and is told that a retry may run;
// after an unknown outcome nobody runs before the lease has ended.
package thunderingwaiters

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*reservation.Coordinator, error) {
	cfg, err := cfg.WithPolicies(reservation.FailOpen, reservation.Release).WithDefaults()
	if err != nil {
		return nil, err
	}
	return reservation.New(turns{s, cfg.Retention}, clk, reservation.DuplicatesWait, cfg)
}

type turns struct {
	store.Store
	retention time.Duration
}

// Await hides a failure from the waiter, which then claims again. An unknown
// outcome would keep it out until its lease ends, so it is freed first, in its
// owner's name.
func (s turns) Await(ctx context.Context, t store.Ticket, limit time.Duration) (store.Notice, error) {
	notice, err := s.Store.Await(ctx, t, limit)
	left := notice.Record
	if err != nil || !notice.Settled || left.Final() {
		return notice, err
	}
	if left.State == store.Unknown {
		_, err = s.Store.Settle(context.WithoutCancel(ctx), store.Settlement{
			Name: left.Name, Token: left.Token, To: store.Free, Failure: left.Failure, Retention: s.retention,
		})
	}
	return store.Notice{}, err
}
