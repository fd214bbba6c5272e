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
// nor returns, as nothing returns in a dead process. A paused worker's calls
// wait, before they are made and before their replies are seen, as in a process
// that the machine has stopped. Bury, at the end of the cell, lets the goroutines
// go, with ErrDead from every port.
type Life struct {
	dead, buried chan struct{}
	kill, bury   sync.Once

	mu       sync.Mutex
	resumed  chan struct{} // closed on resume; nil while running
	frozen   chan struct{} // closed on pause, made anew on resume
	after    int           // store calls until it pauses by itself; 0: it does not
	stuck    bool          // somebody has met this pause
	onPaused func()
}

// NewLife is a living worker's. onPaused, if not nil, is called once for each
// pause, when the first call has met it.
func NewLife(onPaused func()) *Life {
	if onPaused == nil {
		onPaused = func() {}
	}
	return &Life{dead: make(chan struct{}), buried: make(chan struct{}), frozen: make(chan struct{}), onPaused: onPaused}
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

// Pause stops the worker before its next call, or once afterCalls more of its
// store calls have been applied: then the reply is there, but not seen yet.
func (l *Life) Pause(afterCalls int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.after = afterCalls; afterCalls <= 0 {
		l.stop()
	}
}

// Resume lets it go on.
func (l *Life) Resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.after = 0
	if l.resumed != nil {
		close(l.resumed)
		l.resumed, l.frozen = nil, make(chan struct{})
	}
}

// stop pauses; mu is held.
func (l *Life) stop() {
	if l.resumed == nil {
		l.resumed, l.stuck = make(chan struct{}), false
		close(l.frozen)
	}
}

// counted is called after each store call.
func (l *Life) counted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.after > 0 {
		if l.after--; l.after == 0 {
			l.stop()
		}
	}
}

// pause is the one to wait for, nil if there is none; first for who meets it first.
func (l *Life) pause() (resumed <-chan struct{}, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = l.resumed != nil && !l.stuck
	l.stuck = l.stuck || first
	return l.resumed, first
}

// gate is nil for those who live and run. It waits for the paused, and for the
// dead until burial.
func (l *Life) gate() error {
	for {
		select {
		case <-l.dead:
			<-l.buried
			return ErrDead
		default:
		}
		resumed, first := l.pause()
		if resumed == nil {
			return nil
		}
		if first {
			l.onPaused()
		}
		select {
		case <-resumed:
		case <-l.dead:
		}
	}
}

// through is one call of a port: not made by the dead, and its answer not
// delivered to those who died meanwhile.
func through[T any](l *Life, call func() (T, error)) (T, error) {
	return pass(l, func() {}, call)
}

// stored is through for a call of the store, which Pause can count.
func stored[T any](l *Life, call func() (T, error)) (T, error) {
	return pass(l, l.counted, call)
}

func pass[T any](l *Life, made func(), call func() (T, error)) (T, error) {
	var zero T
	if err := l.gate(); err != nil {
		return zero, err
	}
	v, err := call()
	made()
	if dead := l.gate(); dead != nil {
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
	return stored(w.l, func() (store.Claimed, error) { return w.s.Claim(ctx, c) })
}

func (w lifeStore) Settle(ctx context.Context, s store.Settlement) (store.Settled, error) {
	return stored(w.l, func() (store.Settled, error) { return w.s.Settle(ctx, s) })
}

func (w lifeStore) Await(ctx context.Context, t store.Ticket, limit time.Duration) (store.Notice, error) {
	return through(w.l, func() (store.Notice, error) { return w.s.Await(ctx, t, limit) })
}

type lifeKV struct {
	l  *Life
	kv store.KV
}

func (w lifeKV) Get(ctx context.Context, name string) ([]byte, bool, error) {
	var found bool
	v, err := stored(w.l, func() ([]byte, error) {
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
	return stored(w.l, func() (bool, error) { return w.kv.SetNX(ctx, name, value, ttl) })
}

func (w lifeKV) Expire(ctx context.Context, name string, ttl time.Duration) error {
	return w.do(func() error { return w.kv.Expire(ctx, name, ttl) })
}

func (w lifeKV) Delete(ctx context.Context, name string) error {
	return w.do(func() error { return w.kv.Delete(ctx, name) })
}

func (w lifeKV) do(call func() error) error {
	_, err := stored(w.l, func() (struct{}, error) { return struct{}{}, call() })
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
