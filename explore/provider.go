package explore

import (
	"cmp"
	"context"
	"strconv"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/target"
)

// call is a provider call: it arrives, and it commits, whatever becomes of its
// caller.
type call struct {
	by        *actor
	key       string
	charge    int   // 1-based; 0: none yet
	first     int   // 1-based: the call that has begun with its key before, where keys are honoured
	err       error // how it ends, whatever is chosen
	kept      error // how later calls with its key end
	forgotten bool  // the provider knows nothing of it
	over      bool  // committed, or failed
	left      bool  // its caller is gone
}

// charge is a line of the ledger.
type charge struct {
	ref    string
	amount int64
	key    string
	call   int
}

// chargeID is a charge's name.
func chargeID(n int) string { return "ch_" + strconv.Itoa(n) }

// provider is the object of every provider step: calls and charges are numbered in
// their order.
const provider = "provider"

// charge is the service's own code, in two steps: the call arrives, and it commits.
func (a *actor) charge(ctx context.Context) ([]byte, error) {
	w := a.w
	a.enterPhase(running)
	if ctx.Err() != nil {
		a.doubt = true
		return nil, target.Known(context.Cause(ctx))
	}
	a.park(Op{Kind: Arrive, Object: provider, Writes: true})
	n := w.arrive(a, idempotency.ProviderKey(ctx))
	a.ctx = ctx
	a.enterPhase(arrived)
	how := a.park(Op{Kind: Commit, Object: provider, Writes: true, call: n})
	if how == Leave {
		w.calls[n-1].left = true
		a.doubt = true
		a.enterPhase(committed) // for itself
		return nil, target.Known(context.Cause(ctx))
	}
	id, err := w.commit(n, how)
	a.doubt = err != nil
	a.enterPhase(committed)
	if err != nil {
		return nil, target.Known(err)
	}
	ch := w.ledger[id-1]
	a.hash.one(uint64(id))
	return target.Receipt(chargeID(id), ch.amount, ch.ref), nil
}

func (w *world) arrive(a *actor, key string) int {
	c := call{by: a, key: key}
	c.first, c.err = w.lookUp(a, key)
	w.calls = append(w.calls, c)
	w.provider(history.Arrive, len(w.calls), 0, nil)
	return len(w.calls)
}

// lookUp is what a provider that honours keys does with one, as fakeprovider does: it
// keeps what the first call came to, and gives it to every later one.
func (w *world) lookUp(a *actor, key string) (first int, err error) {
	if !w.cfg.HonoursKeys || key == "" {
		return 0, nil
	}
	for i := range w.calls {
		c := &w.calls[i]
		switch {
		case c.key != key || c.first > 0 || c.forgotten:
		case c.by.send.Ref != a.send.Ref || c.by.send.Amount != a.send.Amount:
			return i + 1, fakeprovider.ErrKeyReused
		case !c.over:
			return i + 1, fakeprovider.ErrKeyInUse
		default:
			return i + 1, nil
		}
	}
	return 0, nil
}

// commit ends a call as the choice says, and returns the charge by number.
func (w *world) commit(n int, how Act) (int, error) {
	c := &w.calls[n-1]
	c.over = true
	err := failure(how)
	switch {
	case how == FailCall: // it did not get through
		c.forgotten = true
	case c.first > 0:
		if kept := &w.calls[c.first-1]; c.err == nil {
			c.charge, c.err = kept.charge, kept.kept
		}
		err = cmp.Or(err, c.err)
	case how == Decline:
		c.kept = err
	default:
		w.ledger = append(w.ledger, charge{ref: c.by.send.Ref, amount: c.by.send.Amount, key: c.key, call: n})
		c.charge = len(w.ledger)
		if how == HideCharge {
			c.kept = err
		}
		w.provider(history.Commit, n, c.charge, nil)
	}
	if err != nil {
		w.provider(history.Reply, n, 0, err)
		return 0, err
	}
	w.provider(history.Reply, n, c.charge, nil)
	return c.charge, nil
}

// failure is what the caller of a provider that fails by choice is told.
func failure(how Act) error {
	switch how {
	case FailCall, ChargeLost:
		return fakeprovider.ErrAnswerLost
	case Decline:
		return fakeprovider.ErrDeclined
	case HideCharge:
		return fakeprovider.ErrFailed
	}
	return nil
}

// provider records what the provider saw, if anybody records.
func (w *world) provider(k history.Kind, n, id int, err error) {
	if w.rec == nil {
		return
	}
	c := w.calls[n-1]
	e := history.Event{Kind: k, Call: n, Attempt: c.by.send.Number, Ref: c.by.send.Ref, Effect: history.DefaultEffect, Amount: c.by.send.Amount, ProviderKey: c.key}
	if id > 0 {
		e.Charge = chargeID(id)
	}
	if err != nil {
		e.Err = err.Error()
	}
	w.rec.Record(e)
}
