package fakeprovider

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// stage is how far a call has come.
type stage int

// The stages in order: see Behaviour.
const (
	delayBefore stage = iota
	holdBefore
	execute
	delayAfter
	holdAfter
	answer
)

// call is one call on its way. The provider's lock guards it until done is
// closed; then nothing changes any more.
type call struct {
	number  int
	request Call
	does    Behaviour
	next    stage

	charge Charge // what was executed, or is replayed
	err    error
	entry  *saved // what it owns under its key; nil for none

	hanging bool  // committed, and silent until the caller leaves
	left    error // the cause, once the caller has left
	over    bool
	done    chan struct{}
}

// Charge makes one call, and returns the new charge (or, for a key that the
// provider honours, the one of the first call), one of the package's errors, or
// the context's cause.
//
// When the context ends the caller is let go at once, but the call goes on and
// commits, as it would at a real provider: there is no calling back what has
// been sent. Only a context that had ended before keeps the call from arriving.
func (p *Provider) Charge(ctx context.Context, request Call) (Charge, error) {
	if ctx.Err() != nil {
		return Charge{}, context.Cause(ctx)
	}
	c, err := p.arrive(request)
	if err != nil {
		return Charge{}, err
	}
	select {
	case <-c.done:
		return c.charge, c.err
	case <-ctx.Done():
		return p.leave(c, context.Cause(ctx))
	}
}

// arrive lets a call in and moves it on as far as it goes by itself.
func (p *Provider) arrive(request Call) (*call, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if request.Effect == "" {
		request.Effect = "charge"
	}
	p.counts.Attempts++
	c := &call{
		number:  p.counts.Attempts,
		request: request,
		does:    p.nextBehaviour(),
		done:    make(chan struct{}),
	}
	p.open[c.number] = c
	p.observe(Event{Phase: Arrived, Number: c.number, Call: request})
	p.change()
	p.lookUp(c)
	p.advance(c)
	return c, nil
}

// leave lets the caller go. An answer that is there already is still given: the
// caller must not learn less than the history says.
func (p *Provider) leave(c *call, cause error) (Charge, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.over {
		return c.charge, c.err
	}
	c.left = cause
	if c.hanging {
		p.finish(c, Charge{}, cause)
	}
	return Charge{}, cause
}

// advance moves a call on until it is over or has to wait.
func (p *Provider) advance(c *call) {
	for !c.over {
		s := c.next
		c.next++
		if waits := p.step(c, s); waits {
			return
		}
	}
}

// step does one stage. If it reports that the call waits, somebody else has to
// advance it.
func (p *Provider) step(c *call, s stage) (waits bool) {
	switch s {
	case delayBefore:
		return p.delay(c, c.does.Before)
	case holdBefore:
		return c.does.Hold && p.hold(c)
	case execute:
		p.execute(c)
	case delayAfter:
		return p.delay(c, c.does.After)
	case holdAfter:
		return c.does.HoldAfter && p.hold(c)
	case answer:
		return p.answer(c)
	}
	return false
}

// delay lets time pass in a goroutine of the provider's own: the caller may
// leave meanwhile.
func (p *Provider) delay(c *call, d time.Duration) (waits bool) {
	if d <= 0 {
		return false
	}
	p.delaying.Go(func() {
		err := p.clock.Sleep(p.running, d)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil && !c.over {
			p.advance(c)
		}
	})
	return true
}

// execute fails before any effect, or commits.
func (p *Provider) execute(c *call) {
	switch c.does.Fail {
	case Decline:
		c.err = ErrDeclined
	case ErrorBefore:
		c.err = ErrFailed
	case TimeoutBefore:
		c.err = ErrTimeout
	default:
		p.commit(c)
		return
	}
	p.save(c)
	p.finish(c, Charge{}, c.err)
}

// answer ends the call: with what was executed, or with how the connection
// failed. What is kept under the key is what was executed.
func (p *Provider) answer(c *call) (waits bool) {
	executed := c.charge.Call == c.number // else it is a replay or a refusal
	if executed && c.does.Fail == ErrorAfter {
		c.err = ErrFailed
	}
	p.save(c)
	switch {
	case c.does.Fail == LoseAnswer:
		p.finish(c, Charge{}, ErrAnswerLost)
	case c.does.Fail == HangAfter && c.left == nil:
		c.hanging = true
		return true
	case c.does.Fail == HangAfter:
		p.finish(c, Charge{}, c.left)
	default:
		p.finish(c, c.charge, c.err)
	}
	return false
}

// finish ends a call: its answer is fixed, and whoever waits for it goes on.
func (p *Provider) finish(c *call, charge Charge, err error) {
	if err != nil {
		charge = Charge{}
		p.counts.Failures++
	}
	c.charge, c.err, c.over = charge, err, true
	delete(p.open, c.number)
	p.observe(Event{Phase: Replied, Number: c.number, Call: c.request, Charge: charge, Err: err})
	close(c.done)
	p.change()
}

// byNumber is the open calls, oldest first.
func (p *Provider) byNumber() []*call {
	return slices.SortedFunc(maps.Values(p.open), older)
}

func older(a, b *call) int { return cmp.Compare(a.number, b.number) }
