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

// gate is one client's ports to the store: every operation is a step. Behind it,
// where somebody records, is the recorder, and behind that the wire.
type gate struct {
	a     *actor
	inner store.Store
	kv    store.KV
}

func (g gate) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	if ctx.Err() != nil {
		return store.Claimed{}, ctx.Err()
	}
	g.a.park(Op{Kind: Claim, Object: c.Name, Writes: true})
	return g.inner.Claim(ctx, c)
}

func (g gate) Settle(ctx context.Context, s store.Settlement) (store.Settled, error) {
	if ctx.Err() != nil {
		return store.Settled{}, ctx.Err()
	}
	g.a.park(Op{Kind: Settle, Object: s.Name, Writes: true, Detail: string(s.To)})
	return g.inner.Settle(ctx, s)
}

// Await parks until there is a notice, the limit has passed or the context has ended.
func (g gate) Await(ctx context.Context, t store.Ticket, limit time.Duration) (store.Notice, error) {
	g.a.ctx = ctx
	g.a.park(Op{Kind: Await, Object: g.a.awaited, Until: g.a.w.now + limit, ticket: t})
	return g.inner.Await(ctx, t, limit)
}

// Keep makes the renewal a step of the store's own, which the clock calls for.
func (g gate) Keep(ctx context.Context, r store.Renewal) (context.Context, func()) {
	g.a.alone()
	return g.inner.Keep(ctx, r)
}

func (g gate) Get(ctx context.Context, name string) ([]byte, bool, error) {
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	g.a.park(Op{Kind: Get, Object: name})
	return g.kv.Get(ctx, name)
}

func (g gate) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.a.park(Op{Kind: Set, Object: name, Writes: true, Detail: g.a.says(value)})
	return g.kv.Set(ctx, name, value, ttl)
}

func (g gate) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	g.a.park(Op{Kind: SetNX, Object: name, Writes: true, Detail: g.a.says(value)})
	return g.kv.SetNX(ctx, name, value, ttl)
}

func (g gate) Expire(ctx context.Context, name string, ttl time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.a.park(Op{Kind: Expire, Object: name, Writes: true})
	return g.kv.Expire(ctx, name, ttl)
}

func (g gate) Delete(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.a.park(Op{Kind: Delete, Object: name, Writes: true})
	return g.kv.Delete(ctx, name)
}

// says is the state that a plain value is in; only labels need it.
func (a *actor) says(value []byte) string {
	if a.w.rec == nil {
		return ""
	}
	return string(store.ValueState(value))
}

// wire is what lies between a client and the store: it does what the choice says.
type wire struct{ a *actor }

// over makes the command, or not, as the choice says.
func (x wire) over(command func() error) error {
	switch x.a.act {
	case FailBefore:
		return errDown
	case LoseReply:
		_ = command()
		return errLost
	}
	err := command()
	x.a.hash.flag(err == nil)
	return err
}

func (x wire) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	var got store.Claimed
	err := x.over(func() (err error) {
		got, err = x.a.w.claim(ctx, x.a, c)
		return err
	})
	if err != nil {
		return store.Claimed{}, err
	}
	x.a.awaited = c.Name
	x.a.saw(&got.Record, got.Mine, got.Took, got.Ticket != 0)
	return got, nil
}

func (x wire) Settle(ctx context.Context, s store.Settlement) (store.Settled, error) {
	var got store.Settled
	err := x.over(func() (err error) {
		got, err = x.a.w.settle(ctx, s)
		return err
	})
	if err != nil {
		return store.Settled{}, err
	}
	x.a.saw(&got.Record, got.Applied)
	return got, nil
}

func (x wire) Await(ctx context.Context, t store.Ticket, _ time.Duration) (store.Notice, error) {
	w := x.a.w
	n, noticed := w.model.Noticed(t)
	w.model.Forget(t)
	if !noticed {
		if ctx.Err() != nil {
			return store.Notice{}, ctx.Err()
		}
		n.Limit = true
	}
	n, err := w.awaitedReal(ctx, x.a, n)
	x.a.saw(&n.Record, n.Settled, n.Limit)
	return n, err
}

func (x wire) Keep(ctx context.Context, r store.Renewal) (context.Context, func()) {
	kept, cancel := context.WithCancelCause(ctx)
	now := x.a.w.now
	k := &keeping{renewal: r, cancel: cancel, ends: now + r.MaxRun}
	k.plan(now)
	x.a.keeps = append(x.a.keeps, k)
	return kept, func() { k.end(context.Canceled) }
}

func (x wire) Get(ctx context.Context, name string) (value []byte, found bool, err error) {
	err = x.over(func() (err error) {
		value, found, err = x.a.w.kv().Get(ctx, name)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	x.a.hash.bytes(value)
	x.a.hash.flag(found)
	return value, found, nil
}

func (x wire) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	return x.blindly(func(k store.KV) error { return k.Set(ctx, name, value, ttl) })
}

func (x wire) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (set bool, err error) {
	x.writes()
	err = x.over(func() error {
		return x.a.w.both(func(k store.KV) (err error) {
			set, err = k.SetNX(ctx, name, value, ttl)
			return err
		})
	})
	if err != nil {
		return false, err
	}
	x.a.hash.flag(set)
	return set, nil
}

// blindly makes a command whose reply does not say what it met: the order of such
// writes is seen by nobody but the judge.
func (x wire) blindly(command func(store.KV) error) error {
	x.writes()
	x.a.hash.one(x.a.w.writes)
	return x.over(func() error { return x.a.w.both(command) })
}

// writes counts a plain write. Its value may have a token in it, by which others know
// the writer from now on.
func (x wire) writes() {
	x.a.w.writes++
	x.a.hash.one(uint64(x.a.id))
}

func (x wire) Expire(ctx context.Context, name string, ttl time.Duration) error {
	return x.blindly(func(k store.KV) error { return k.Expire(ctx, name, ttl) })
}

func (x wire) Delete(ctx context.Context, name string) error {
	return x.blindly(func(k store.KV) error { return k.Delete(ctx, name) })
}

// saw folds what the client was told: from equal replies it goes on equally.
func (a *actor) saw(r *store.Record, flags ...bool) {
	h := &a.hash
	h.text(string(r.State))
	h.one(a.w.number(r.Token))
	h.text(r.Fingerprint)
	h.text(string(r.Form))
	h.bytes(r.Result)
	h.text(r.Failure)
	h.add(uint64(r.Fence), uint64(r.Generation), uint64(r.LeaseLeft))
	for _, f := range flags {
		h.flag(f)
	}
}
