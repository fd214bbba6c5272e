package explore

import (
	"context"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
	"github.com/idemrace/idemrace/target"
)

// world is one run: everything that the scheduler moves, and nothing else. It is
// made anew for each schedule.
type world struct {
	cfg       *Config
	now       time.Duration // since epoch
	store     Backing
	actors    []*actor
	calls     []call
	ledger    []charge
	deadlines []*deadline
	left      budget
	current   int // who made the last step
	last      Op  // which that was
	rec       *history.Recorder
	steps     []Step // by labels, if anybody records
	broken    error  // the coordinator could not be made
}

// budget is what choices may still be made.
type budget struct{ faults, crashes, expiries, preemptions int }

// free is a budget that nothing bounds.
const free = 1 << 30

func newWorld(cfg *Config, left budget) *world {
	w := &world{cfg: cfg, left: left, current: -1}
	w.populate()
	return w
}

// populate makes store and clients.
func (w *world) populate() {
	cfg := w.cfg
	w.store = cfg.backing(w)
	for i, s := range cfg.attempts {
		a := &actor{w: w, id: i, name: s.Client, send: s}
		w.actors = append(w.actors, a)
		if err := w.enter(a); err != nil {
			w.broken = err
			return
		}
	}
}

// enter makes a client's worker and runs it up to its request.
func (w *world) enter(a *actor) error {
	g := gate{a}
	env := impl.Env{Store: g, KV: g, Clock: clockOf{a}, Config: w.cfg.Coordinator, HonoursKeys: w.cfg.HonoursKeys, Cleanup: func(func()) {}}
	if w.rec != nil {
		env.Store, env.KV = history.Store(w.rec, a.name, g), history.KV(w.rec, a.name, g)
	}
	n := 0
	env.Config.NewToken = func() string { n++; return fmt.Sprintf("%s-%d", a.name, n) }
	c, err := w.cfg.Entry.New(env)
	if err != nil {
		return err
	}
	req := w.cfg.requests[a.id]
	act := idempotency.Action(a.pay)
	ctx := context.Background()
	if w.rec != nil {
		act, ctx = history.Action(w.rec, a.name, a.send.Ref, act), history.WithAttempt(ctx, a.send.Number)
	}
	a.begin(c, req, act, ctx)
	return nil
}

func modelOf(w *world) Backing { return model{memstore.New(virtual{w})} }

// take makes one choice, and says what it was.
func (w *world) take(c Choice) {
	if w.rec != nil {
		w.steps = append(w.steps, w.label(c))
	}
	w.spend(c)
	switch c.Actor {
	case theClock:
		w.tick(c)
	case theProvider:
		_, _ = w.commit(c.Call, c.Act)
	default:
		a := w.actors[c.Actor]
		w.current, w.last = c.Actor, a.op
		if c.Act == Crash {
			w.crash(a)
			return
		}
		if c.Act == Go && c.Call > 0 {
			w.renew(a, c.Call-1)
			return
		}
		a.resume(c.Act)
	}
}

func (w *world) crash(a *actor) {
	if w.rec != nil {
		w.rec.Record(history.Event{Kind: history.Fault, Op: "worker-kill", Worker: a.name, N: 1})
	}
	if a.op.Kind == Commit {
		w.calls[a.op.call-1].left = true
	}
	a.kill()
	if w.rec != nil && a.began {
		w.rec.Record(history.Event{Kind: history.Answer, Attempt: a.send.Number, Client: a.name, Worker: a.name, Key: a.send.Key, Ref: a.send.Ref,
			Answer: history.UnknownOutcome, Err: "no answer: the worker died"})
	}
}

// renew makes one renewal of a client's lease.
func (w *world) renew(a *actor, n int) {
	k := a.keeps[n]
	kept, err := k.renewal.Renew(func() (bool, error) { return w.store.Renew(k.renewal), nil })
	k.plan(w)
	if err == nil && !kept {
		k.over = true
		k.cancel(store.ErrLeaseLost)
	}
}

// spend takes a choice from the budget, and counts a preemption: another goes on
// though the current one could.
func (w *world) spend(c Choice) {
	switch {
	case c.Act == Crash:
		w.left.crashes--
	case c.Act == FailBefore || c.Act == LoseReply || c.Act == ChargeLost || c.Act == FailCall:
		w.left.faults--
	case c.Actor == theClock && (c.Call > 0 || !w.idle()):
		w.left.expiries--
	}
	if w.preempts(c) {
		w.left.preemptions--
	}
}

func (w *world) preempts(c Choice) bool {
	if w.current < 0 || c.Actor == w.current || c.Actor < 0 || c.Act == Crash {
		return false
	}
	cur := w.actors[w.current]
	return cur.live() && !cur.waiting()
}

// tick moves the clock to the next deadline, and ends what ends there.
func (w *world) tick(c Choice) {
	at, lease, ok := w.nextDeadline()
	if end, found := w.store.LeaseEnds(); c.Call > 0 && found {
		at, lease, ok = end.Sub(epoch), true, true
	}
	if !ok {
		return
	}
	w.now = at
	for _, d := range w.deadlines {
		if d.at.Sub(epoch) <= w.now {
			d.pass()
		}
	}
	for _, a := range w.actors {
		for _, k := range a.keeps {
			if !k.over && w.now >= k.ends {
				k.over = true
				k.cancel(store.ErrRunTooLong)
			}
		}
	}
	if lease {
		_ = w.store.EndLeases(context.Background())
		if w.rec != nil {
			w.rec.Record(history.Event{Kind: history.Fault, Op: "end-leases", N: 1})
		}
	}
}

func (w *world) endsLease(c Choice) bool {
	_, lease, _ := w.nextDeadline()
	return lease || c.Call > 0
}

// nextDeadline is the next moment at which time alone changes something.
func (w *world) nextDeadline() (at time.Duration, lease, ok bool) {
	consider := func(t time.Duration, isLease bool) {
		if t > w.now && (!ok || t < at || t == at && isLease) {
			at, lease, ok = t, isLease, true
		}
	}
	if end, found := w.store.LeaseEnds(); found {
		consider(end.Sub(epoch), true)
	}
	for _, a := range w.actors {
		if !a.live() {
			continue
		}
		if k := a.op.Kind; k == Sleep || k == Await {
			consider(a.op.Until, false)
		}
		for _, k := range a.keeps {
			if !k.over {
				consider(min(k.due, k.ends), false)
			}
		}
	}
	for _, d := range w.deadlines {
		if d.Context.Err() == nil {
			consider(d.at.Sub(epoch), false)
		}
	}
	return at, lease, ok
}

// sent and answered are a client's view, for the history.
func (w *world) sent(a *actor) {
	if w.rec == nil {
		return
	}
	fp, _ := target.Fingerprint(a.send) // made already
	w.rec.Record(history.Event{Kind: history.Send, Attempt: a.send.Number, Client: a.name, Worker: a.name, Tenant: a.send.Tenant,
		Operation: a.send.Operation, Key: a.send.Key, Ref: a.send.Ref, Amount: a.send.Amount, Fingerprint: fp.String()})
}

func (w *world) answered(a *actor) {
	if w.rec == nil {
		return
	}
	r := a.answer()
	w.rec.Record(history.Event{Kind: history.Answer, Attempt: a.send.Number, Client: a.name, Worker: a.name, Tenant: a.send.Tenant,
		Operation: a.send.Operation, Key: a.send.Key, Ref: a.send.Ref,
		Answer: r.Answer, Source: r.Source, Charge: r.Charge, Amount: r.Amount, Body: r.Body, Err: r.Detail})
}

// bury ends every coroutine that is still there.
func (w *world) bury() {
	for _, a := range w.actors {
		if a.lane != nil && !a.ended {
			a.kill()
		}
	}
}

// hash is the state, by which two prefixes are told to be one: the store, the
// ledger, the clock, what each client has seen, and what may still be chosen.
func (w *world) hash(bounded bool) digest {
	var d digest
	d.add(uint64(w.now), uint64(w.left.faults), uint64(w.left.crashes), uint64(w.left.expiries))
	if bounded {
		d.add(uint64(w.left.preemptions), uint64(w.current+1))
	}
	s := w.store.Hash()
	d.add(s.a, s.b)
	for _, c := range w.ledger {
		d.text(c.ref)
		d.text(c.key)
		d.add(uint64(c.amount), uint64(c.call))
	}
	for i := range w.calls {
		c := &w.calls[i]
		d.add(uint64(c.by.id), uint64(c.charge))
		d.flag(c.over)
		d.flag(c.left)
		d.flag(c.overlap)
		d.text(c.key)
	}
	for _, a := range w.actors {
		d.add(a.hash.a, a.hash.b, uint64(a.op.Kind), uint64(len(a.keeps)))
		d.flag(a.ended)
		d.flag(a.dead)
	}
	return d
}
