package explore

import (
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
	by     *actor
	key    string
	charge int  // 1-based; 0: none yet
	over   bool // committed, or failed
	left   bool // its caller is gone
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
	w.calls = append(w.calls, call{by: a, key: key})
	w.provider(history.Arrive, len(w.calls), 0, nil)
	return len(w.calls)
}

// commit ends a call as the choice says, and returns the charge by number.
func (w *world) commit(n int, how Act) (int, error) {
	c := &w.calls[n-1]
	c.over = true
	err := failure(how)
	if how == FailCall || how == Decline {
		w.provider(history.Reply, n, 0, err)
		return 0, err
	}
	c.charge = w.chargeOf(c)
	if c.charge == 0 {
		w.ledger = append(w.ledger, charge{ref: c.by.send.Ref, amount: c.by.send.Amount, key: c.key, call: n})
		c.charge = len(w.ledger)
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

// chargeOf is the charge that a provider which honours keys has for this one.
func (w *world) chargeOf(c *call) int {
	if !w.cfg.HonoursKeys || c.key == "" {
		return 0
	}
	for i, ch := range w.ledger {
		if ch.key == c.key {
			return i + 1
		}
	}
	return 0
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
