package explore

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/store"
)

// epoch is when every run begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// clockOf is one client's view of virtual time, which stands still until the
// scheduler moves it.
type clockOf struct{ a *actor }

func (c clockOf) Now() time.Time {
	c.a.alone()
	c.a.hash.one(uint64(c.a.w.now))
	return epoch.Add(c.a.w.now)
}

func (c clockOf) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.a.ctx = ctx
	c.a.park(Op{Kind: Sleep, Until: c.a.w.now + max(d, 0)})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (c clockOf) WithDeadline(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
	c.a.alone()
	inner, cancel := context.WithCancelCause(parent)
	d := &deadline{Context: inner, at: at.Sub(epoch), time: at, cancel: cancel}
	if d.at <= c.a.w.now {
		d.pass()
	} else {
		c.a.deadlines = append(c.a.deadlines, d)
	}
	return d, func() { cancel(context.Canceled) }
}

// deadline is a context that ends by virtual time. It stands on one of the
// standard library's, so that deriving another from it starts no goroutine.
type deadline struct {
	context.Context
	at     time.Duration
	time   time.Time
	cancel context.CancelCauseFunc
	passed bool
}

func (d *deadline) Deadline() (time.Time, bool) { return d.time, true }

func (d *deadline) Err() error {
	if d.passed {
		return context.DeadlineExceeded
	}
	return d.Context.Err()
}

func (d *deadline) pass() {
	if d.Context.Err() == nil {
		d.passed = true
		d.cancel(context.DeadlineExceeded)
	}
}

// tick moves the clock to the next deadline, and ends what ends there.
func (w *world) tick(c Choice) {
	at, kind := w.nextDeadline()
	if end, final, found := w.ends(); c.Call > 0 && found {
		at, kind = end, leaseEnd
		if final {
			kind = finalEnd
		}
	}
	if kind == nothing {
		return
	}
	w.now = at
	for _, a := range w.actors {
		a.passed(at)
	}
	w.ended(kind)
	if kind == leaseEnd {
		done := w.finished()
		w.order.add(uint64(at), done.a, done.b)
	}
}

// passed ends what the client has that ends by the clock.
func (a *actor) passed(now time.Duration) {
	for _, d := range a.deadlines {
		if d.at <= now {
			d.pass()
		}
	}
	for _, k := range a.keeps {
		if !k.over && now >= k.ends {
			k.end(store.ErrRunTooLong)
		}
	}
}

// What a moment of the clock is.
const (
	nothing  = iota
	moment   // of a client: its sleep, its patience, its deadline, its renewal
	leaseEnd // a claim's
	finalEnd // a result's, before its retention is over
)

// nextDeadline is the next moment at which time alone changes something.
func (w *world) nextDeadline() (at time.Duration, kind int) {
	consider := func(t time.Duration, k int) {
		if t > w.now && (kind == nothing || t < at || t == at && k > kind) {
			at, kind = t, k
		}
	}
	if end, final, found := w.ends(); found && final {
		consider(end, finalEnd)
	} else if found {
		consider(end, leaseEnd)
	}
	for _, a := range w.actors {
		if !a.live() {
			continue
		}
		if k := a.op.Kind; k == Sleep || k == Await {
			consider(a.op.Until, moment)
		}
		for _, k := range a.keeps {
			if !k.over {
				consider(min(k.due, k.ends), moment)
			}
		}
		for _, d := range a.deadlines {
			if d.Context.Err() == nil {
				consider(d.at, moment)
			}
		}
	}
	return at, kind
}

// ends is when the next claim ends, or a result that does not keep its retention.
func (w *world) ends() (at time.Duration, final, ok bool) {
	end, final, ok := w.model.Ends(w.early)
	return end.Sub(epoch), final, ok
}
