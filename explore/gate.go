package explore

import (
	"context"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/store"
)

// errs of a store that fails by choice.
var (
	errDown = fmt.Errorf("%w: the command did not reach the store", store.ErrUnavailable)
	errLost = fmt.Errorf("%w: the reply was lost", store.ErrUnavailable)
)

// gate is one client's ports to the store: every operation is a step.
type gate struct{ a *actor }

// step parks, lets do be done or not, and returns the error that the choice makes.
func (g gate) step(op Op, do func()) error {
	switch g.a.park(op) {
	case FailBefore:
		return errDown
	case LoseReply:
		do()
		return errLost
	}
	do()
	return nil
}

func (g gate) Claim(ctx context.Context, c store.Claim) (got store.Claimed, err error) {
	if ctx.Err() != nil {
		return got, ctx.Err()
	}
	var failed error
	err = g.step(Op{Kind: Claim, Object: c.Name, Writes: true}, func() { got, failed = g.a.w.store.Claim(ctx, c) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return store.Claimed{}, err
	}
	g.saw(got.Record, got.Mine, got.Took)
	return got, nil
}

func (g gate) Settle(ctx context.Context, s store.Settlement) (got store.Settled, err error) {
	if ctx.Err() != nil {
		return got, ctx.Err()
	}
	var failed error
	err = g.step(Op{Kind: Settle, Object: s.Name, Writes: true, Detail: string(s.To)}, func() { got, failed = g.a.w.store.Settle(ctx, s) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return store.Settled{}, err
	}
	g.saw(got.Record, got.Applied)
	return got, nil
}

// Await parks until there is a notice, the limit has passed or the context has ended.
func (g gate) Await(ctx context.Context, t store.Ticket, limit time.Duration) (store.Notice, error) {
	a := g.a
	a.ctx = ctx
	a.park(Op{Kind: Await, Until: a.w.now + limit, ticket: uint64(t)})
	if !a.w.store.Noticed(uint64(t)) {
		if ctx.Err() != nil {
			return store.Notice{}, ctx.Err()
		}
		limit = 0
	}
	n, err := a.w.store.Await(context.Background(), t, limit)
	if err == nil {
		g.saw(n.Record, n.Settled, n.Limit)
	}
	return n, err
}

// Keep makes the renewal a step of the store's own, which the clock calls for.
func (g gate) Keep(ctx context.Context, r store.Renewal) (context.Context, func()) {
	kept, cancel := context.WithCancelCause(ctx)
	k := &keeping{renewal: r, cancel: cancel, ends: g.a.w.now + r.MaxRun}
	k.plan(g.a.w)
	g.a.keeps = append(g.a.keeps, k)
	return kept, func() { k.over = true; cancel(context.Canceled) }
}

// keeping is a lease being renewed.
type keeping struct {
	renewal store.Renewal
	cancel  context.CancelCauseFunc
	due     time.Duration // when the next renewal is
	ends    time.Duration // no renewal after this
	over    bool
}

// plan puts the next renewal at the last moment before the lease ends: those that
// come earlier change nothing that anybody can see.
func (k *keeping) plan(w *world) { k.due = w.now + k.renewal.Lease - time.Millisecond }

func (g gate) Get(ctx context.Context, name string) (value []byte, found bool, err error) {
	var failed error
	err = g.step(Op{Kind: Get, Object: name}, func() { value, found, failed = g.a.w.store.Get(ctx, name) })
	if err = first(err, failed); err != nil {
		return nil, false, err
	}
	g.a.hash.text(string(value))
	g.a.hash.flag(found)
	return value, found, nil
}

func (g gate) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	var failed error
	err := g.step(Op{Kind: Set, Object: name, Writes: true, Detail: string(store.ValueState(value))}, func() { failed = g.a.w.store.Set(ctx, name, value, ttl) })
	return first(err, failed)
}

func (g gate) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (set bool, err error) {
	var failed error
	err = g.step(Op{Kind: SetNX, Object: name, Writes: true, Detail: string(store.ValueState(value))}, func() { set, failed = g.a.w.store.SetNX(ctx, name, value, ttl) })
	if err = first(err, failed); err != nil {
		return false, err
	}
	g.a.hash.flag(set)
	return set, nil
}

func (g gate) Expire(ctx context.Context, name string, ttl time.Duration) error {
	var failed error
	err := g.step(Op{Kind: Expire, Object: name, Writes: true}, func() { failed = g.a.w.store.Expire(ctx, name, ttl) })
	return first(err, failed)
}

func (g gate) Delete(ctx context.Context, name string) error {
	var failed error
	err := g.step(Op{Kind: Delete, Object: name, Writes: true}, func() { failed = g.a.w.store.Delete(ctx, name) })
	return first(err, failed)
}

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// saw folds what the client was told: from equal replies it goes on equally.
func (g gate) saw(r store.Record, flags ...bool) {
	h := &g.a.hash
	h.text(string(r.State))
	h.text(r.Token)
	h.text(string(r.Result))
	h.text(r.Failure)
	h.add(uint64(r.Fence), uint64(r.Generation), uint64(r.LeaseLeft))
	for _, f := range flags {
		h.flag(f)
	}
}
