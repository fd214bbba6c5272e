package explore

import (
	"context"
	"fmt"
	"iter"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/target"
)

// actor is one client with the worker that serves it: a coroutine that runs
// until its next step and parks before it.
type actor struct {
	w    *world
	id   int
	name string
	send target.Attempt

	lane *lane

	op    Op              // parked before
	ctx   context.Context // of the parked Sleep, Await or Commit
	act   Act             // how the step is to go
	began bool
	ended bool
	dead  bool
	hash  digest // of all that it has seen
	out   idempotency.Outcome
	err   error
	keeps []*keeping
}

// buried unwinds a dead client's goroutine. Its deferred functions find every port
// dead: each unwinds again.
type buried struct{}

// park stops before a step and returns how it is to go.
func (a *actor) park(op Op) Act {
	if a.dead {
		panic(buried{})
	}
	a.op = op
	a.lane.yield(struct{}{})
	if a.dead {
		panic(buried{})
	}
	a.hash.add(uint64(op.Kind), uint64(a.act), uint64(a.w.now))
	return a.act
}

// begin makes the coroutine and runs it to its first step.
func (a *actor) begin(c idempotency.Coordinator, req idempotency.Request, act idempotency.Action, ctx context.Context) {
	a.lane = a.w.cfg.lane(a.id)
	a.lane.job = func() {
		defer a.unwound()
		a.park(Op{Kind: Start})
		a.began = true
		a.w.sent(a)
		out, err := a.do(ctx, c, req, act)
		if !a.dead { // nobody hears the dead
			a.out, a.err = out, err
			a.w.answered(a)
		}
	}
	a.resume(Go)
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

// do is the request. A coordinator that panics is an error like any other, as a
// server's would be.
func (a *actor) do(ctx context.Context, c idempotency.Coordinator, req idempotency.Request, act idempotency.Action) (out idempotency.Outcome, err error) {
	defer func() {
		p := recover()
		if _, gone := p.(buried); gone {
			panic(p)
		}
		if p != nil {
			err = fmt.Errorf("the coordinator panicked: %v", p)
		}
	}()
	return c.Do(ctx, req, act)
}

// answer is what its client was told.
func (a *actor) answer() target.Response { return target.Answer(a.out, a.err) }

// unwound ends the coroutine; any other panic is the coordinator's and goes on.
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
	a.keeps = nil
	a.lane.next()
}

// waiting: the parked step cannot be made yet.
func (a *actor) waiting() bool {
	switch a.op.Kind {
	case Sleep:
		return a.w.now < a.op.Until && a.ctx.Err() == nil
	case Await:
		return a.w.now < a.op.Until && a.ctx.Err() == nil && !a.w.store.Noticed(a.op.ticket)
	}
	return false
}

// live: it has steps to make.
func (a *actor) live() bool { return !a.ended && !a.dead }
