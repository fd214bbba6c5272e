// Package cache is the coordinator that people write first: look up, else run
// and store. It is here to be caught.
//
// "Same answer" is a cache; "one effect" is a guarantee under concurrency, and
// this one gives it only when the second request comes after the first has
// ended. People retry when the first has not ended. Both then look up, both find
// nothing, both charge; the later one loses the race to store its result and
// returns the winner's. The answers agree and the card is charged twice: no
// check of responses can see it, only the provider's ledger can.
//
// Seen in the field as check-then-act: mastodon pull request 37879,
// alphagov/pay-connector pull request 4460, grape-idempotency issue 10.
//
// Its other faults follow from the same simplicity. The action runs on the
// client's context, so a client that hangs up can stop it between the charge and
// the record. There is no claim, so a worker that dies leaves no trace of its
// charge. No provider key is handed on, so there is no second layer. Results of
// any size are stored.
package cache

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// Coordinator looks up, else runs and stores.
type Coordinator struct {
	kv  store.KV
	cfg reservation.Config
}

var _ idempotency.Coordinator = (*Coordinator)(nil)

// New makes the coordinator. Of cfg it heeds Retention, StoreDown (FailOpen
// unless set) and Logger; the rest is about leases, and here are none.
func New(kv store.KV, cfg reservation.Config) (*Coordinator, error) {
	if kv == nil {
		return nil, errors.New("cache: a key-value store is needed")
	}
	cfg, err := cfg.WithPolicies(reservation.FailOpen, reservation.Release).WithDefaults()
	if err != nil {
		return nil, err
	}
	return &Coordinator{kv: kv, cfg: cfg}, nil
}

// entry is what stands under a key: the result, and what it is the result of.
// The result is kept as base64, for it has to come back byte for byte.
type entry struct {
	Fingerprint string `json:"fingerprint"`
	Result      []byte `json:"result"`
}

// Do is a GET, and on a miss the action and a SETNX. Between the two there is
// nothing: that is the fault.
func (c *Coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if err := req.Validate(); err != nil {
		return idempotency.Outcome{}, err
	}
	kept, found, err := c.kv.Get(ctx, req.StoredName())
	switch {
	case err != nil:
		return c.storeDown(ctx, req, act, err)
	case found:
		return replay(req, kept)
	}
	return c.run(ctx, req, act, idempotency.Executed)
}

// storeDown applies the policy. Neither choice helps once the charge is made and
// only the record is missing.
func (c *Coordinator) storeDown(ctx context.Context, req idempotency.Request, act idempotency.Action, err error) (idempotency.Outcome, error) {
	if gone := ctx.Err(); gone != nil {
		return idempotency.Outcome{}, gone
	}
	if c.cfg.StoreDown == reservation.FailClosed {
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	c.log(ctx, req, "store down: running unprotected", err)
	return c.run(ctx, req, act, idempotency.Unprotected)
}

// run runs the action, for as many callers as have missed. Errors are not stored.
func (c *Coordinator) run(ctx context.Context, req idempotency.Request, act idempotency.Action, source idempotency.Source) (idempotency.Outcome, error) {
	result, err := act(ctx)
	if err != nil {
		return idempotency.Outcome{}, err
	}
	out := idempotency.Outcome{Result: result, Source: source}
	value, err := json.Marshal(entry{Fingerprint: req.Fingerprint.String(), Result: result})
	if err != nil {
		return out, nil // cannot happen: a string and bytes always marshal
	}
	out.Stored, err = c.kv.SetNX(ctx, req.StoredName(), value, c.cfg.Retention)
	if err != nil {
		c.log(ctx, req, "result not stored: a retry will run again", err)
		return out, nil
	}
	if !out.Stored {
		return c.lost(ctx, req, out)
	}
	return out, nil
}

// lost answers for who has charged second: with the winner's result. It looks
// like a courtesy, and it is what hides the second charge.
func (c *Coordinator) lost(ctx context.Context, req idempotency.Request, mine idempotency.Outcome) (idempotency.Outcome, error) {
	kept, found, err := c.kv.Get(ctx, req.StoredName())
	if err != nil || !found {
		return mine, nil
	}
	return replay(req, kept)
}

// replay gives back what was stored, if it was stored for this payload.
func replay(req idempotency.Request, kept []byte) (idempotency.Outcome, error) {
	var e entry
	if err := json.Unmarshal(kept, &e); err != nil {
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	same, err := req.Fingerprint.Matches(e.Fingerprint)
	if err != nil {
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	if !same {
		return idempotency.Outcome{}, &idempotency.KeyReusedError{Stored: e.Fingerprint, Got: req.Fingerprint.String()}
	}
	return idempotency.Outcome{Result: e.Result, Source: idempotency.Replayed, Stored: true}, nil
}

func (c *Coordinator) log(ctx context.Context, req idempotency.Request, message string, err error) {
	c.cfg.Logger.Log(ctx, slog.LevelWarn, "idempotency: "+message, "operation", req.Operation, "error", err)
}
