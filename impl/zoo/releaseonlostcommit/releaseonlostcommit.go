// Package releaseonlostcommit waits as wait does, and gives the key back when its
// result could not be stored.
//
// What is wrong: the effect has been made; only its record is missing. A key that
// is free tells the next retry that nothing has happened, and it charges at once.
//
// Seen in nestarc 0.1.3, idempotency-kit and arun0009/idempotent. As there, the
// result is stored with one try.
//
// Right: try again for a while, and then leave the claim in place. It keeps
// retries out until its lease ends, and somebody can look.
package releaseonlostcommit

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator. Config.CompleteFor has no meaning here.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*reservation.Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	cfg.CompleteFor = time.Nanosecond // one try
	return reservation.New(tidy{s}, clk, reservation.DuplicatesWait, cfg)
}

// tidy leaves no claim behind, whatever it stands for.
type tidy struct{ store.Store }

func (s tidy) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	settled, err := s.Store.Settle(ctx, t)
	if err != nil && t.To == store.Done {
		t.To, t.Form, t.Result, t.Failure = store.Free, store.Inline, nil, "the result could not be stored"
		_, _ = s.Store.Settle(ctx, t)
	}
	return settled, err
}
