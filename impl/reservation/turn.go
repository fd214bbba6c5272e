package reservation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store"
)

// Pauses between tries to settle: short, for a connection that broke, then
// longer, for a store that fails over.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// maxFailure bounds, in bytes, the words of a failure that a record keeps.
const maxFailure = 512

// turn is one right to run the action, or the lack of one when the store is down.
type turn struct {
	source     idempotency.Source // Executed or Unprotected
	generation int64
	// leaseEnd counts from the moment before the claim was sent, by this side's
	// clock: never later than the lease's end by the store's.
	leaseEnd time.Time
}

// owned is the turn of a claim that is ours.
func (a *attempt) owned(sent time.Time, rec store.Record) turn {
	return turn{idempotency.Executed, rec.Generation, sent.Add(a.cfg.Lease)}
}

// unprotected is the turn of a run with the store down. It keeps to a lease all
// the same: the claim may have been applied, and only its reply lost. The
// generation is not known. The first is right unless the key has had failures
// without effect; then a provider may answer with one of those, and does not know
// of a charge made under a later key. Unprotected is what it is called.
func (a *attempt) unprotected(sent time.Time) turn {
	return turn{idempotency.Unprotected, 1, sent.Add(a.cfg.Lease)}
}

// run makes the effect and settles the claim. From here on the client's leaving
// changes nothing: an effect under way is never forgotten.
func (a *attempt) run(ctx context.Context, t turn) (idempotency.Outcome, error) {
	ctx = context.WithoutCancel(ctx)
	a.started(t)
	ended := false
	defer func() {
		// Not recovered: a panic keeps its own stack, and Goexit comes by here too.
		if !ended {
			a.giveBack(ctx, t, store.Settlement{To: store.Unknown, Failure: "the action panicked"})
		}
	}()
	result, err := a.execute(ctx, t)
	ended = true
	if err != nil {
		return a.fail(ctx, t, err)
	}
	return a.complete(ctx, t, result)
}

// complete stores the result. If the store cannot, the claim is left in place:
// deleting it would let the next retry charge at once. A result that was too
// large counts as not stored, though the key is done for good: Stored promises
// that a retry gets these bytes, and it would get ErrResultTooLarge.
func (a *attempt) complete(ctx context.Context, t turn, result []byte) (idempotency.Outcome, error) {
	until := a.lastTry(t)
	form, kept := a.pack(ctx, result)
	settled, err := a.settle(ctx, store.Settlement{To: store.Done, Form: form, Result: kept}, until)
	out := idempotency.Outcome{Result: result, Source: t.source}
	switch {
	case err != nil:
		a.notStored(ctx, err)
		return out, nil
	case settled.Applied:
		out.Stored = form != store.TooLarge
		return out, nil
	}
	return a.superseded(ctx, t, result, settled.Record)
}

// superseded answers for an owner that was overtaken: with what stands, so that
// answers agree; and reports its own effect, so that nobody hides it.
func (a *attempt) superseded(ctx context.Context, t turn, result []byte, stands store.Record) (idempotency.Outcome, error) {
	if t.source == idempotency.Executed {
		a.leaseLost(ctx)
	}
	if a.alone(t, stands) {
		a.notStored(ctx, errTakenOver)
		return idempotency.Outcome{Result: result, Source: t.source}, nil
	}
	out, err := a.answer(ctx, stands, idempotency.Superseded)
	if err == nil && bytes.Equal(out.Result, result) {
		// One effect, told twice: the provider honoured the key it was handed. To
		// report it would have the only charge voided.
		return out, nil
	}
	a.orphan(ctx, idempotency.Orphan{Request: a.req, Result: result, Stands: out.Result})
	return out, err
}

// fail gives the key back as the action's error asks, and returns that error. An
// error that says both "no effect" and "unknown" is taken as unknown.
//
// "No effect" is the action's word on its own call. Where another attempt has made the
// claim its own meanwhile, and has charged or may yet, it is not the last word on the
// request: who heard it would take the payment for refused. Then what stands is told.
func (a *attempt) fail(ctx context.Context, t turn, err error) (idempotency.Outcome, error) {
	s := store.Settlement{To: store.Free, Failure: words(err)}
	switch {
	case errors.Is(err, idempotency.ErrUnknownOutcome):
		s.To = store.Unknown
	case errors.Is(err, idempotency.ErrNoEffect):
		s.NoEffect = true
	case a.cfg.OnError == MarkUnknown:
		s.To = store.Unknown
		err = fmt.Errorf("%w: %w", idempotency.ErrUnknownOutcome, err)
	}
	settled := a.giveBack(ctx, t, s)
	if stands := settled.Record; s.NoEffect && !settled.Applied && stands.Fingerprint == a.claim.Fingerprint && stands.State != store.Free {
		return a.answer(ctx, stands, idempotency.Superseded)
	}
	return idempotency.Outcome{}, err
}

// giveBack releases the claim or marks it unknown, and returns what stands then; the
// zero value if the store did not say. A claim that cannot be given back ends with its
// lease.
func (a *attempt) giveBack(ctx context.Context, t turn, s store.Settlement) store.Settled {
	settled, err := a.settle(ctx, s, a.lastTry(t))
	if err != nil {
		return store.Settled{}
	}
	if !settled.Applied && t.source == idempotency.Executed {
		a.leaseLost(ctx)
	}
	return settled
}

// lastTry is until when settling is tried again: for CompleteFor, and never past
// the lease, unless that was renewed: then most of it is left. Unprotected runs
// try once: their store was down a moment ago.
func (a *attempt) lastTry(t turn) time.Time {
	if t.source == idempotency.Unprotected {
		return time.Time{}
	}
	until := a.clk.Now().Add(a.cfg.CompleteFor)
	if until.After(t.leaseEnd) && !a.renews(t) {
		return t.leaseEnd
	}
	return until
}

// settle tries at least once, after the lease too, for it applies as long as
// nobody took over. Settling twice with one token is one settlement, so a lost
// reply is harmless.
func (a *attempt) settle(ctx context.Context, s store.Settlement, until time.Time) (store.Settled, error) {
	s.Name, s.Token = a.claim.Name, a.claim.Token
	s.Fingerprint, s.Retention = a.claim.Fingerprint, a.cfg.Retention
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		settled, err := a.store.Settle(ctx, s)
		if err == nil {
			return settled, nil
		}
		a.storeFailed(ctx, "settle", err)
		if a.clk.Now().Add(pause).After(until) {
			return store.Settled{}, err
		}
		if err := a.clk.Sleep(ctx, pause); err != nil {
			return store.Settled{}, err
		}
	}
}

// words is a failure as waiters are told it: short, and valid UTF-8.
func words(err error) string {
	w := err.Error()
	return strings.ToValidUTF8(w[:min(len(w), maxFailure)], "")
}
