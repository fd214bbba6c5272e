package explore

import (
	"context"
	"time"
)

// epoch is when every run begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// clockOf is one client's view of virtual time, which stands still until the
// scheduler moves it.
type clockOf struct{ a *actor }

func (c clockOf) Now() time.Time { return epoch.Add(c.a.w.now) }

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
	inner, cancel := context.WithCancelCause(parent)
	d := &deadline{Context: inner, at: at, cancel: cancel}
	if when := at.Sub(epoch); when <= c.a.w.now {
		d.pass()
	} else {
		c.a.w.deadlines = append(c.a.w.deadlines, d)
	}
	return d, func() { cancel(context.Canceled) }
}

// deadline is a context that ends by virtual time. It stands on one of the
// standard library's, so that deriving another from it starts no goroutine.
type deadline struct {
	context.Context
	at     time.Time
	cancel context.CancelCauseFunc
	passed bool
}

func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }

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

// virtual is the store's own clock.
type virtual struct{ w *world }

func (v virtual) Now() time.Time { return epoch.Add(v.w.now) }

func (v virtual) Sleep(context.Context, time.Duration) error { return nil }

func (v virtual) WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}
