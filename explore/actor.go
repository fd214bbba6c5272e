package explore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/target"
)

// actor is one client with the worker that serves it: a coroutine that runs
// until its next step and parks before it. It is used again by each run.
type actor struct {
	w      *world
	id     int
	name   string
	send   target.Attempt
	env    impl.Env
	tokens []string // as NewToken gives them out

	lane    *lane
	job     func()
	pay     idempotency.Action
	handler idempotency.Coordinator

	life
}

// life is what of an actor belongs to one run.
type life struct {
	op        Op // parked before
	ctx       context.Context
	act       Act // how the step is to go
	began     bool
	goroutine string // on which its worker runs, in a dry run
	ended     bool
	dead      bool
	left      bool // its client has gone
	phase     uint64
	doubt     bool   // its action, or its answer, is without a clear outcome
	refused   bool   // it was told that nothing was done
	given     int    // tokens
	hash      digest // of all that it has seen
	out       idempotency.Outcome
	err       error
	request   context.Context
	hangUp    context.CancelCauseFunc
	awaited   string // the name under which it registered to wait
	real      store.Ticket
	keeps     []*keeping
	deadlines []*deadline
}

// The phases of a client, as others' order is told by.
const (
	unsent = iota
	sent
	running // its action has begun
	arrived
	committed
	answered
	died
	parted // its client has left; it goes on
)

// newActor makes a client's place in the world.
func newActor(w *world, id int, send target.Attempt) *actor {
	a := &actor{w: w, id: id, name: send.Client, send: send}
	a.job, a.pay = a.work, a.charge
	g := gate{a: a, inner: wire{a}, kv: wire{a}}
	if w.rec != nil {
		g.inner, g.kv = history.Store(w.rec, a.name, wire{a}), history.KV(w.rec, a.name, wire{a})
		a.pay = history.Action(w.rec, a.name, send.Ref, a.charge)
	}
	a.env = impl.Env{Store: g, KV: g, Clock: clockOf{a}, Config: w.cfg.Coordinator, HonoursKeys: w.cfg.HonoursKeys, Cleanup: func(func()) {}}
	a.env.Config.NewToken = a.token
	a.env.Config.OnOrphan = w.orphan
	return a
}

func (a *actor) token() string {
	a.given++
	for len(a.tokens) < a.given {
		a.tokens = append(a.tokens, a.name+"-"+strconv.Itoa(len(a.tokens)+1))
	}
	return a.tokens[a.given-1]
}

// enter makes the client's worker anew and parks it before its request.
func (a *actor) enter() error {
	a.life = life{keeps: a.keeps[:0], deadlines: a.deadlines[:0]}
	a.hash.one(a.w.cfg.class(a.id))
	if _, keeps := a.handler.(*reservation.Coordinator); !keeps { // that one keeps counts only: it can be used again
		c, err := a.w.cfg.Entry.New(a.env)
		if err != nil {
			return err
		}
		a.handler = c
	}
	a.request = context.Background()
	if a.w.rec != nil {
		a.request = history.WithAttempt(a.request, a.send.Number)
	}
	if a.w.cfg.HangUps > 0 {
		a.request, a.hangUp = context.WithCancelCause(a.request)
	}
	a.lane = a.w.cfg.lane(a.id)
	a.lane.job = a.job
	return nil
}

// buried unwinds a dead client's goroutine. Its deferred functions find every port
// dead: each unwinds again.
type buried struct{}

// park stops before a step and returns how it is to go.
func (a *actor) park(op Op) Act {
	if a.dead {
		panic(buried{})
	}
	a.alone()
	a.op = op
	a.lane.yield(struct{}{})
	if a.dead {
		panic(buried{})
	}
	a.hash.one(uint64(op.Kind) | uint64(a.act)<<8)
	return a.act
}

// alone tells the examiner of an admission whose goroutine a port was called from.
func (a *actor) alone() {
	if a.w.cfg.visitor != nil {
		a.w.cfg.visitor(a)
	}
}

// work is the coroutine's job: one request from its start to its answer.
func (a *actor) work() {
	defer a.unwound()
	if a.w.cfg.visitor != nil {
		a.goroutine = goroutine()
	}
	a.began = true
	a.enterPhase(sent)
	a.w.sent(a)
	out, err := a.do()
	if a.dead {
		return // nobody hears the dead
	}
	a.out, a.err = out, err
	if err != nil {
		told := a.answer().Answer
		a.refused, a.doubt = definitive(told), a.doubt || told == history.UnknownOutcome
	}
	a.enterPhase(answered)
	a.w.answered(a)
}

// do is the request. A coordinator that panics is an error like any other, as a
// server's would be.
func (a *actor) do() (out idempotency.Outcome, err error) {
	defer func() {
		p := recover()
		if _, gone := p.(buried); gone {
			panic(p)
		}
		if p != nil {
			err = fmt.Errorf("the coordinator panicked: %v", p)
		}
	}()
	return a.handler.Do(a.request, a.w.cfg.requests[a.id], a.pay)
}

// answer is what its client was told.
func (a *actor) answer() target.Response {
	if a.left {
		return target.Response{Answer: history.HungUp, Detail: "the client had left"}
	}
	return target.Answer(a.out, a.err)
}

// definitive: the answer says that nothing was done.
func definitive(answer string) bool {
	return answer == history.Declined || answer == history.KeyReused || answer == history.InvalidKey
}

// unwound ends the job; any other panic is the coordinator's and goes on.
func (a *actor) unwound() {
	a.ended = true
	if p := recover(); p != nil {
		if _, ok := p.(buried); !ok {
			panic(p)
		}
	}
}

func (a *actor) resume(how Act) {
	a.act = how
	a.lane.next()
}

// kill ends the client's worker: nothing that it does is seen any more.
func (a *actor) kill() {
	a.dead = true
	if a.began && !a.ended {
		a.lane.next()
	}
}

// errLeft is why the context of a client that has hung up ends.
var errLeft = errors.New("the client hung up")

// waiting: the parked step cannot be made yet.
func (a *actor) waiting() bool {
	switch a.op.Kind {
	case Sleep:
		return a.w.now < a.op.Until && a.ctx.Err() == nil
	case Await:
		if a.w.now >= a.op.Until || a.ctx.Err() != nil {
			return false
		}
		_, noticed := a.w.model.Noticed(a.op.ticket)
		return !noticed
	}
	return false
}

// live: it has steps to make.
func (a *actor) live() bool { return !a.ended && !a.dead }

// enterPhase moves on, and folds what of the others' progress verdicts depend on.
func (a *actor) enterPhase(p uint64) {
	before := a.w.precedence(a, p)
	a.hash.add(before.a, before.b)
	a.phase = p
}

// state folds what the client's future depends on: what it has seen, and what has
// been prepared for it.
func (a *actor) state(d *digest) {
	flags := uint64(a.op.Kind) | a.phase<<8
	for i, f := range [...]bool{a.ended, a.dead, a.left} {
		if f {
			flags |= 1 << (16 + i)
		}
	}
	d.add(a.hash.a, a.hash.b, flags)
	if a.ended || a.dead {
		return
	}
	if a.op.Kind == Sleep {
		d.one(uint64(a.op.Until))
	}
	if a.op.Kind == Await {
		n, noticed := a.w.model.Noticed(a.op.ticket)
		d.flag(noticed)
		if noticed {
			d.text(string(n.Record.State))
			d.one(a.w.number(n.Record.Token))
			d.bytes(n.Record.Result)
		}
		d.one(uint64(a.op.Until))
	}
	for _, k := range a.keeps {
		d.add(uint64(k.due), uint64(k.ends))
		d.flag(k.over)
		d.flag(k.why == nil)
	}
	for _, e := range a.deadlines {
		d.one(uint64(e.at))
		d.flag(e.passed)
	}
}

// lane is a coroutine in which one client after the other lives: a new one for each
// run would have to grow its stack each time.
type lane struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	job   func()
}

// lane is the coroutine of the client with that index.
func (c *Config) lane(i int) *lane {
	for len(c.lanes) <= i {
		l := &lane{}
		l.next, l.stop = iter.Pull(func(yield func(struct{}) bool) {
			l.yield = yield
			for yield(struct{}{}) {
				l.job()
			}
		})
		l.next() // to its first rest
		c.lanes = append(c.lanes, l)
	}
	return c.lanes[i]
}

// free ends the coroutines; none of them has a client.
func (c *Config) free() {
	for _, l := range c.lanes {
		l.stop()
	}
	c.lanes = nil
}

// keeping is a lease being renewed.
type keeping struct {
	renewal store.Renewal
	cancel  context.CancelCauseFunc
	due     time.Duration // when the next renewal is
	ends    time.Duration // no renewal after this
	over    bool
	why     error
}

// plan puts the next renewal at the last moment before the lease ends: those that
// come earlier change nothing that anybody can see.
func (k *keeping) plan(now time.Duration) { k.due = now + k.renewal.Lease - time.Millisecond }

func (k *keeping) end(why error) {
	k.over, k.why = true, why
	k.cancel(why)
}

// renew makes one renewal of a client's lease.
func (w *world) renew(a *actor, n int) {
	k := a.keeps[n]
	kept, err := k.renewal.Renew(func() (bool, error) { return w.renewed(k.renewal) })
	k.plan(w.now)
	if err == nil && !kept {
		k.end(store.ErrLeaseLost)
	}
	by, done := caller(a), w.finished()
	w.order.add(by.a, uint64(w.now), done.a, done.b)
}
