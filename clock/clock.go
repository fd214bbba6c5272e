// Package clock is time as a port: the real clock here, virtual ones elsewhere.
//
// A coordinator never sleeps, never selects on a timer and never starts a
// goroutine; it asks a Clock. That is what lets a scheduler, a test or a worker
// that has been killed stand between a coordinator and time. The package
// refuses to be a general time library: it has only what a coordinator needs.
package clock

import (
	"context"
	"time"
)

// Clock is what a coordinator knows of time. Its readings are never compared
// with those of another machine: a lease ends by the store's time.
type Clock interface {
	// Now is the present moment, with a monotonic reading where there is one.
	Now() time.Time
	// Sleep returns nil after d, or the context's cause if that ends first. A
	// context that has ended already wins over a d of 0 or less.
	Sleep(ctx context.Context, d time.Duration) error
	// WithDeadline is context.WithDeadline on this clock: the context ends with
	// context.DeadlineExceeded at the moment at, or earlier with its parent or by
	// cancel, which must be called.
	WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc)
}

// Real is the machine's clock; its zero value is ready to use.
type Real struct{}

// Now is time.Now.
func (Real) Now() time.Time { return time.Now() }

// Sleep waits on a timer of the machine, and leaves none behind.
func (Real) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WithDeadline is context.WithDeadline.
func (Real) WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, at)
}
