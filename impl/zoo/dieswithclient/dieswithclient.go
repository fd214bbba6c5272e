// Package dieswithclient refuses duplicates as raise does, and does its work on
// the client's context.
//
// What is wrong: when the client hangs up, the action is cut off and its result
// is not stored; the request counts as one that never was, and the key is free.
// But the provider charges whoever listens. The client's time-out was the reason
// for its retry, and the retry charges again.
//
// Seen in caura pull request 1629 and bright-room/idem.
//
// Right: from the claim on, the client's leaving changes nothing. Action and
// completion run on a context without its end (context.WithoutCancel).
package dieswithclient

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// Coordinator is raise with the context replaced.
type Coordinator struct {
	core *reservation.Coordinator
	clk  clock.Clock
}

// New makes the coordinator.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	core, err := reservation.New(bound{s}, clk, reservation.DuplicatesRaise, cfg)
	return &Coordinator{core, clk}, err
}

type clientKey struct{}

// Do handles the request for as long as its client is there. The core takes the
// client's end off its context; here it is carried along, and put on again.
func (c *Coordinator) Do(client context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	ctx := context.WithValue(client, clientKey{}, client)
	return c.core.Do(ctx, req, func(ctx context.Context) ([]byte, error) {
		deadline, _ := ctx.Deadline() // the core always sets one
		theirs, cancel := c.clk.WithDeadline(client, deadline)
		defer cancel()
		return act(idempotency.WithProviderKey(theirs, idempotency.ProviderKey(ctx)))
	})
}

// bound settles for a client that is there, and undoes what one has left.
type bound struct{ store.Store }

func (s bound) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	client := ctx.Value(clientKey{}).(context.Context) // Do has put it there
	if client.Err() == nil {
		return s.Store.Settle(client, t)
	}
	t.To, t.Form, t.Result, t.Failure = store.Free, store.Inline, nil, "the client has left"
	return s.Store.Settle(ctx, t)
}
