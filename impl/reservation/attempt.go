package reservation

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store"
)

// leaseGrain is added to a wait for a lease's end. Stores count in milliseconds;
// without it the next claim could come just before the end, for nothing.
const leaseGrain = time.Millisecond

// attempt is one call of Do. It has one token for all its claims, so that a
// claim whose reply was lost is found again as its own.
type attempt struct {
	*Coordinator
	req        idempotency.Request
	act        idempotency.Action
	claim      store.Claim
	giveUp     time.Time // when this caller waits no longer
	impatient  bool      // the wait limit has passed
	sawPending bool      // somebody else was seen to hold the key
	ran        bool      // the action was started
	resolves   bool      // it brings the outcome and makes none; see Resolve
}

func (c *Coordinator) newAttempt(req idempotency.Request, act idempotency.Action) *attempt {
	spellings := req.Fingerprint.All() // hashed once: the newest is what String gives
	return &attempt{
		Coordinator: c,
		req:         req,
		act:         act,
		giveUp:      c.clk.Now().Add(c.cfg.WaitLimit),
		claim: store.Claim{
			Name:         req.StoredName(),
			Fingerprint:  spellings[0],
			Fingerprints: spellings,
			Token:        c.cfg.NewToken(),
			Lease:        c.cfg.Lease,
			Retention:    c.cfg.Retention,
		},
	}
}

// handle claims until there is an answer. It claims again only when something
// has changed: the holder's lease or this caller's patience has ended, or a
// notice may have been lost.
func (a *attempt) handle(ctx context.Context) (idempotency.Outcome, error) {
	for {
		if err := ctx.Err(); err != nil {
			return idempotency.Outcome{}, err
		}
		sent := a.clk.Now()
		got, err := a.reserve(ctx, sent)
		switch {
		case err != nil:
			return a.storeDown(ctx, sent, err)
		case got.Mine:
			return a.mine(ctx, a.owned(sent, got.Record), got.Record)
		case got.Ticket == 0:
			return a.answer(ctx, got.Record, a.found())
		}
		notice, err := a.await(ctx, got)
		if err != nil {
			return idempotency.Outcome{}, err
		}
		if notice.Settled {
			return a.answer(ctx, notice.Record, idempotency.Waited)
		}
	}
}

// reserve sends the claim, on a context that does not end with the client's: a
// claim cut short may have been applied all the same, and would then hold the
// key for a whole lease with nobody behind it. The store bounds its calls in
// time. A client that leaves meanwhile has its request run: it was accepted, and
// the retry will find the answer.
func (a *attempt) reserve(ctx context.Context, now time.Time) (store.Claimed, error) {
	a.claim.Wait = a.duplicates == DuplicatesWait && !a.impatient && now.Before(a.giveUp)
	got, err := a.store.Claim(context.WithoutCancel(ctx), a.claim)
	if err != nil {
		a.storeFailed(ctx, "claim", err)
	}
	return got, err
}

// found is the source of a final that a claim finds.
func (a *attempt) found() idempotency.Source {
	if a.sawPending {
		return idempotency.Waited
	}
	return idempotency.Replayed
}

// await waits for the holder, at most until its lease or this caller's patience
// ends. It is the one call that the client's leaving cuts short: a waiter owns
// nothing.
func (a *attempt) await(ctx context.Context, got store.Claimed) (store.Notice, error) {
	a.sawPending = true
	patience := max(0, a.giveUp.Sub(a.clk.Now()))
	limit := min(patience, max(0, got.Record.LeaseLeft)+leaseGrain)
	notice, err := a.store.Await(ctx, got.Ticket, limit)
	if err != nil {
		if gone := ctx.Err(); gone != nil {
			return notice, gone
		}
		a.storeFailed(ctx, "await", err)
		return notice, &idempotency.StoreUnavailableError{Err: err}
	}
	a.impatient = notice.Limit && limit == patience
	return notice, nil
}

// answer says what a record that is not this attempt's means for it. A mismatch
// comes first, in every state: whose payload differs learns nothing else.
func (a *attempt) answer(ctx context.Context, rec store.Record, source idempotency.Source) (idempotency.Outcome, error) {
	same, err := rec.Fingerprint == a.claim.Fingerprint, error(nil)
	if !same {
		same, err = a.req.Fingerprint.Matches(rec.Fingerprint)
	}
	if err != nil {
		// Written by a version to come. It cannot be told apart, so nothing may run.
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	if !same {
		return idempotency.Outcome{}, &idempotency.KeyReusedError{Stored: rec.Fingerprint, Got: a.claim.Fingerprint}
	}
	switch rec.State {
	case store.Done:
		return a.final(ctx, rec, source)
	case store.Free:
		return idempotency.Outcome{}, &idempotency.OwnerFailedError{Failure: rec.Failure}
	case store.Unknown:
		if a.cfg.Takeover == TakeoverRefuses && !a.resolves {
			return idempotency.Outcome{}, errUnresolved
		}
		return idempotency.Outcome{}, &idempotency.InProgressError{RetryAfter: max(0, rec.LeaseLeft)}
	case store.Pending:
		return idempotency.Outcome{}, &idempotency.InProgressError{RetryAfter: max(0, rec.LeaseLeft)}
	}
	return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: fmt.Errorf("a record in state %q", rec.State)}
}

// final gives back a stored result in the form in which it was kept.
func (a *attempt) final(ctx context.Context, rec store.Record, source idempotency.Source) (idempotency.Outcome, error) {
	out := idempotency.Outcome{Source: source, Stored: true}
	switch rec.Form {
	case store.TooLarge:
		return idempotency.Outcome{}, idempotency.ErrResultTooLarge
	case store.Reference:
		result, err := a.load(ctx, rec.Result)
		if err != nil {
			return idempotency.Outcome{}, err
		}
		out.Result = result
	default:
		// One notice serves all waiters of a process; each gets bytes of its own.
		out.Result = bytes.Clone(rec.Result)
	}
	return out, nil
}

// storeDown applies the policy when a claim failed. Who has seen somebody else
// hold the key never runs: that one may be charging at this moment.
func (a *attempt) storeDown(ctx context.Context, sent time.Time, err error) (idempotency.Outcome, error) {
	if gone := ctx.Err(); gone != nil {
		return idempotency.Outcome{}, gone // nobody is there to run unprotected for
	}
	if a.sawPending || a.resolves || a.cfg.StoreDown == FailClosed {
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	a.log(ctx, slog.LevelWarn, "store down: running unprotected", "error", err)
	return a.run(ctx, a.unprotected(sent))
}
