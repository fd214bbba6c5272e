package explore

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store/memstore"
	"github.com/idemrace/idemrace/target"
)

// world is one run: everything that the scheduler moves, and nothing else. It is
// begun anew for each schedule.
type world struct {
	cfg    *Config
	model  *memstore.Store
	real   Real // nil: the model alone
	early  time.Time
	actors []*actor
	rec    *history.Recorder // nil: nobody records

	now     time.Duration // since epoch
	calls   []call
	ledger  []charge
	from    budget // at the beginning
	left    budget
	current int      // who made the last step of his own
	last    Op       // which that was
	writes  uint64   // plain ones so far
	order   digest   // what only the order of steps tells
	granted []string // tokens, in the order in which the store first gave something to them
	parts   []digest // of each client, as content last made them
	seen    stresses
	chosen  []Choice
	steps   []Step // the same by labels, if anybody records
	cut     bool   // a budget of this level left something out
	broken  error  // the coordinator could not be made, or the real store failed
}

// budget is what choices may still be made.
type budget struct{ faults, crashes, expiries, hangUps, preemptions int }

// free is a budget that nothing bounds.
const free = 1 << 30

// newWorld makes a world; rec may be nil.
func newWorld(cfg *Config, rec func(*world) *history.Recorder) *world {
	w := &world{cfg: cfg, early: epoch.Add(cfg.Coordinator.Retention)}
	w.model = memstore.New(virtual{w})
	if rec != nil {
		w.rec = rec(w)
	}
	for i, s := range cfg.attempts {
		w.actors = append(w.actors, newActor(w, i, s))
	}
	return w
}

// begin puts everything back to where a run begins.
func (w *world) begin(left budget) {
	w.now, w.calls, w.ledger, w.chosen, w.steps = 0, w.calls[:0], w.ledger[:0], w.chosen[:0], nil
	w.from, w.left, w.current, w.last = left, left, -1, Op{}
	w.order, w.writes, w.broken, w.granted = digest{}, 0, nil, w.granted[:0]
	w.seen = stresses{}
	w.model.Reset()
	if w.cfg.Back != nil {
		w.broken = w.emptied()
	}
	for _, a := range w.actors {
		if w.broken == nil {
			w.broken = a.enter()
		}
	}
}

// take makes one choice, and notes what it was.
func (w *world) take(c Choice) {
	if w.rec != nil {
		w.steps = append(w.steps, w.label(c))
	}
	w.chosen = append(w.chosen, c)
	w.stressed(c)
	w.spend(c)
	switch c.Actor {
	case theClock:
		w.tick(c)
		return
	case theProvider:
		_, _ = w.commit(c.Call, c.Act)
		return
	}
	a := w.actors[c.Actor]
	switch {
	case c.Act == Crash:
		w.crash(a)
	case c.Act == HangUp:
		w.hangUp(a)
	case c.Call > 0:
		w.renew(a, c.Call-1)
	default:
		w.current, w.last = c.Actor, a.op
		a.resume(c.Act)
	}
}

func (w *world) crash(a *actor) {
	w.fault("worker-kill", a.name)
	if a.op.Kind == Commit {
		w.calls[a.op.call-1].left = true
	}
	a.kill()
	w.release(a)
	a.enterPhase(died)
	w.told(a, history.Event{Answer: history.UnknownOutcome, Err: "no answer: the worker died"})
}

// hangUp has the client leave; its worker goes on, on a context that has ended.
func (w *world) hangUp(a *actor) {
	a.left = true
	a.enterPhase(parted)
	a.hangUp(errLeft)
	if w.rec != nil {
		w.rec.Record(history.Event{Kind: history.HangUp, Attempt: a.send.Number, Client: a.name, Worker: a.name, Key: a.send.Key, Ref: a.send.Ref})
	}
	w.told(a, history.Event{Answer: history.HungUp, Err: "the client hung up"})
}

// spend takes a choice from the budget, and counts a preemption: another goes on
// though the current one could.
func (w *world) spend(c Choice) {
	switch {
	case c.Act == Crash:
		w.left.crashes--
	case c.Act == HangUp:
		w.left.hangUps--
	case c.Act.fault():
		w.left.faults--
	case w.hastens(c):
		w.left.expiries--
	}
	if w.preempts(c) {
		w.left.preemptions--
	}
}

// hastens: the clock goes on though somebody could move.
func (w *world) hastens(c Choice) bool { return c.Actor == theClock && (c.Call > 0 || !w.idle()) }

func (w *world) preempts(c Choice) bool {
	if w.current < 0 || c.Actor == w.current || c.Actor < 0 || c.Act == Crash || c.Act == HangUp || c.Act == Go && c.Call > 0 {
		return false
	}
	cur := w.actors[w.current]
	return cur.live() && !cur.waiting()
}

// price of a choice: one for each thing that had not to happen.
func (w *world) price(c Choice) int {
	n := 0
	if c.Act == Crash || c.Act == HangUp || c.Act.fault() || w.hastens(c) {
		n++
	}
	if w.preempts(c) {
		n++
	}
	return n
}

// spent is what the run has cost so far.
func (w *world) spent() int {
	return w.from.faults - w.left.faults + w.from.crashes - w.left.crashes + w.from.expiries - w.left.expiries +
		w.from.hangUps - w.left.hangUps + w.from.preemptions - w.left.preemptions
}

// bury ends every coroutine that is still under way.
func (w *world) bury() {
	for _, a := range w.actors {
		if a.lane != nil && a.live() {
			a.kill()
		}
		w.release(a)
	}
}

// over: nothing can happen any more.
func (w *world) over() bool {
	for _, a := range w.actors {
		if a.live() {
			return false
		}
	}
	for i := range w.calls {
		if c := &w.calls[i]; c.left && !c.over {
			return false
		}
	}
	return true
}

// What follows is for the history; nothing of it is made unless somebody records.

func (w *world) fault(op, worker string) {
	if w.rec != nil {
		w.rec.Record(history.Event{Kind: history.Fault, Op: op, Worker: worker, N: 1})
	}
}

func (w *world) sent(a *actor) {
	if w.rec == nil {
		return
	}
	w.rec.Record(history.Event{Kind: history.Send, Attempt: a.send.Number, Client: a.name, Worker: a.name, Tenant: a.send.Tenant, Operation: a.send.Operation,
		Key: a.send.Key, Ref: a.send.Ref, Amount: a.send.Amount, Fingerprint: w.cfg.fingerprints[a.id]})
}

func (w *world) answered(a *actor) {
	if w.rec == nil || a.left {
		return
	}
	r := a.answer()
	w.told(a, history.Event{Answer: r.Answer, Source: r.Source, Charge: r.Charge, Amount: r.Amount, Body: r.Body, Err: r.Detail})
}

func (w *world) told(a *actor, e history.Event) {
	if w.rec == nil {
		return
	}
	e.Kind, e.Attempt, e.Client, e.Worker = history.Answer, a.send.Number, a.name, a.name
	e.Tenant, e.Operation, e.Key, e.Ref = a.send.Tenant, a.send.Operation, a.send.Key, a.send.Ref
	w.rec.Record(e)
}

func (w *world) orphan(ctx context.Context, o idempotency.Orphan) {
	if w.rec == nil {
		return
	}
	ref, id, _ := target.ReadReceipt(o.Result)
	w.rec.Record(history.Event{Kind: history.Orphan, Attempt: history.AttemptOf(ctx), Ref: ref, Charge: id})
}

// closed ends the history: what lies in the store, and that all is quiet.
func (w *world) closed() {
	records, err := w.model.Records(context.Background())
	if err != nil {
		return // it fails only for a context that has ended
	}
	for _, r := range records {
		ttl := int64(-1)
		if r.ExpiresIn >= 0 {
			ttl = r.ExpiresIn.Milliseconds()
		}
		w.rec.Record(history.Event{Kind: history.RecordSeen, Name: r.Name, State: string(r.State), Fence: r.Fence, Generation: r.Generation,
			Token: r.Token, Fingerprint: r.Fingerprint, LeaseMS: r.LeaseLeft.Milliseconds(), TTLMS: ttl})
	}
	w.rec.Record(history.Event{Kind: history.Settled})
}
