package explore

import (
	"context"
	"fmt"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/target"
)

// call is a provider call: it arrives, and it commits, whatever becomes of its
// caller.
type call struct {
	by      *actor
	ref     string
	amount  int64
	key     string
	charge  int  // 1-based; 0: none yet
	over    bool // committed, or failed
	left    bool // its caller is gone
	overlap bool
}

// charge is a line of the ledger.
type charge struct {
	ref    string
	amount int64
	key    string
	call   int
}

func (c charge) id(n int) string { return fmt.Sprintf("ch_%d", n) }

// pay is the service's own code, in two steps: the call arrives, and it commits.
func (a *actor) pay(ctx context.Context) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, target.Known(context.Cause(ctx))
	}
	w := a.w
	a.park(Op{Kind: Arrive, Object: a.send.Ref, Writes: true})
	n := w.arrive(a, idempotency.ProviderKey(ctx))
	a.ctx = ctx
	how := a.park(Op{Kind: Commit, Object: a.send.Ref, Writes: true, call: n})
	if how == Leave {
		w.calls[n-1].left = true
		return nil, target.Known(context.Cause(ctx))
	}
	id, err := w.commit(n, how)
	if err != nil {
		return nil, target.Known(err)
	}
	ch := w.ledger[id-1]
	a.hash.add(uint64(id))
	return target.Receipt(ch.id(id), ch.amount, ch.ref), nil
}

func (w *world) arrive(a *actor, key string) int {
	w.calls = append(w.calls, call{by: a, ref: a.send.Ref, amount: a.send.Amount, key: key})
	n := len(w.calls)
	for i := range w.calls[:n-1] {
		other := &w.calls[i]
		if !other.over && other.ref == a.send.Ref && (key == "" || other.key != key) {
			w.calls[n-1].overlap = true
		}
	}
	w.provider(history.Arrive, n, 0, nil)
	return n
}

// commit ends a call as the choice says, and returns the charge by number.
func (w *world) commit(n int, how Act) (int, error) {
	c := &w.calls[n-1]
	c.over = true
	if how == FailCall {
		w.provider(history.Reply, n, 0, fakeprovider.ErrAnswerLost)
		return 0, fakeprovider.ErrAnswerLost
	}
	c.charge = w.chargeOf(c)
	if c.charge == 0 {
		w.ledger = append(w.ledger, charge{ref: c.ref, amount: c.amount, key: c.key, call: n})
		c.charge = len(w.ledger)
		w.provider(history.Commit, n, c.charge, nil)
	}
	if how == ChargeLost {
		w.provider(history.Reply, n, 0, fakeprovider.ErrAnswerLost)
		return 0, fakeprovider.ErrAnswerLost
	}
	w.provider(history.Reply, n, c.charge, nil)
	return c.charge, nil
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
	e := history.Event{Kind: k, Call: n, Attempt: c.by.send.Number, Ref: c.ref, Effect: history.DefaultEffect, Amount: c.amount, ProviderKey: c.key}
	if id > 0 {
		e.Charge = charge{}.id(id)
	}
	if err != nil {
		e.Err = err.Error()
	}
	w.rec.Record(e)
}
