package target

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/store"
)

// ErrDead is what a dead worker's ports say once its cell is over.
var ErrDead = fmt.Errorf("%w: the worker is dead", store.ErrUnavailable)

// Life is one worker's. Its ports pass everything through until Kill; from then
// on they swallow what is asked of them: a call neither reaches the other side
// nor returns, as nothing returns in a dead process. Bury, at the end of the
// cell, lets the goroutines go, with ErrDead from every port.
type Life struct {
	dead, buried chan struct{}
	kill, bury   sync.Once
}

// NewLife is a living worker's.
func NewLife() *Life {
	return &Life{dead: make(chan struct{}), buried: make(chan struct{})}
}

// Kill ends it. Killing twice is killing once.
func (l *Life) Kill() { l.kill.Do(func() { close(l.dead) }) }

// Bury kills and lets everything that is stuck in a port return ErrDead.
func (l *Life) Bury() {
	l.Kill()
	l.bury.Do(func() { close(l.buried) })
}

// Dead is closed when the worker has been killed.
func (l *Life) Dead() <-chan struct{} { return l.dead }

// err is nil for the living; for the dead it blocks until burial.
func (l *Life) err() error {
	select {
	case <-l.dead:
		<-l.buried
		return ErrDead
	default:
		return nil
	}
}

// through is one call of a port: not made by the dead, and its answer not
// delivered to those who died meanwhile.
func through[T any](l *Life, call func() (T, error)) (T, error) {
	var zero T
	if err := l.err(); err != nil {
		return zero, err
	}
	v, err := call()
	if dead := l.err(); dead != nil {
		return zero, dead
	}
	return v, err
}

// Store is s as this worker sees it.
func (l *Life) Store(s store.Store) store.Store { return lifeStore{l, s} }

// KV is kv as this worker sees it.
func (l *Life) KV(kv store.KV) store.KV { return lifeKV{l, kv} }

// Clock is c as this worker sees it: a dead worker's sleep does not end by itself.
func (l *Life) Clock(c clock.Clock) clock.Clock { return lifeClock{l, c} }

type lifeStore struct {
	l *Life
	s store.Store
}

func (w lifeStore) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	return through(w.l, func() (store.Claimed, error) { return w.s.Claim(ctx, c) })
}

func (w lifeStore) Settle(ctx context.Context, s store.Settlement) (store.Settled, error) {
	return through(w.l, func() (store.Settled, error) { return w.s.Settle(ctx, s) })
}

func (w lifeStore) Await(ctx context.Context, t store.Ticket, limit time.Duration) (store.Notice, error) {
	return through(w.l, func() (store.Notice, error) { return w.s.Await(ctx, t, limit) })
}

// Keep stops renewing when the worker dies: nobody renews a dead worker's lease.
func (w lifeStore) Keep(ctx context.Context, r store.Renewal) (context.Context, func()) {
	kept, stop := w.s.Keep(ctx, r)
	done := make(chan struct{})
	var once sync.Once
	halt := func() { once.Do(func() { close(done); stop() }) }
	go func() {
		select {
		case <-w.l.dead:
			halt()
		case <-done:
		}
	}()
	return kept, halt
}

type lifeKV struct {
	l  *Life
	kv store.KV
}

func (w lifeKV) Get(ctx context.Context, name string) ([]byte, bool, error) {
	var found bool
	v, err := through(w.l, func() ([]byte, error) {
		v, ok, err := w.kv.Get(ctx, name)
		found = ok
		return v, err
	})
	return v, found && err == nil, err
}

func (w lifeKV) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	return w.do(func() error { return w.kv.Set(ctx, name, value, ttl) })
}

func (w lifeKV) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error) {
	return through(w.l, func() (bool, error) { return w.kv.SetNX(ctx, name, value, ttl) })
}

func (w lifeKV) Expire(ctx context.Context, name string, ttl time.Duration) error {
	return w.do(func() error { return w.kv.Expire(ctx, name, ttl) })
}

func (w lifeKV) Delete(ctx context.Context, name string) error {
	return w.do(func() error { return w.kv.Delete(ctx, name) })
}

func (w lifeKV) do(call func() error) error {
	_, err := through(w.l, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

type lifeClock struct {
	l *Life
	c clock.Clock
}

func (w lifeClock) Now() time.Time { return w.c.Now() }

func (w lifeClock) Sleep(ctx context.Context, d time.Duration) error {
	_, err := through(w.l, func() (struct{}, error) { return struct{}{}, w.c.Sleep(ctx, d) })
	return err
}

func (w lifeClock) WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return w.c.WithDeadline(ctx, at)
}
