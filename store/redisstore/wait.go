package redisstore

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/store"
)

// waiter is one registered Await. Its channel holds one notice, so that waking
// never blocks and nothing is lost between Claim and Await.
type waiter struct {
	name   string
	notice chan store.Notice
	fence  int64          // of the claim that it waits for; 0 until that is known
	early  []store.Notice // what came before it was known, in order
}

// Await implements store.Store. A ticket that is not known (zero, or used up)
// is answered at once by "claim again".
func (s *Store) Await(ctx context.Context, t store.Ticket, limit time.Duration) (store.Notice, error) {
	w := s.inbox.waiter(t)
	if w == nil {
		return store.Notice{}, nil
	}
	defer s.inbox.forget(t)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case n := <-w.notice:
		return n, nil
	case <-ctx.Done():
		return store.Notice{}, ctx.Err()
	case <-timer.C:
	}
	select {
	case n := <-w.notice: // it came at the same moment: better than nothing
		return n, nil
	default:
		return store.Notice{Limit: true}, nil
	}
}

// register makes a waiter, before the claim is sent.
func (b *inbox) register(name string) store.Ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	w := &waiter{name: name, notice: make(chan store.Notice, 1)}
	b.waiters[b.last] = w
	if b.byName[name] == nil {
		b.byName[name] = map[store.Ticket]*waiter{}
	}
	b.byName[name][b.last] = w
	return b.last
}

// expect says which claim the waiter has met. A notice that came before, about
// an earlier owner, was meant for this process's earlier waiters.
func (b *inbox) expect(t store.Ticket, fence int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiters[t]
	w.fence = max(fence, 1) // the first claim's is 1
	for _, n := range w.early {
		w.deliver(n)
	}
	w.early = nil
}

// deliver keeps the first notice that concerns the waiter. Until it is known
// which do, all are kept: the one that counts may come behind an earlier owner's
// before the claim's own reply has been read.
func (w *waiter) deliver(n store.Notice) {
	if w.fence == 0 {
		w.early = append(w.early, n)
		return
	}
	if n.Settled && n.Record.Fence < w.fence {
		return
	}
	select {
	case w.notice <- n:
	default:
	}
}

func (b *inbox) waiter(t store.Ticket) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiters[t]
}

func (b *inbox) forget(t store.Ticket) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiters[t]
	if w == nil {
		return
	}
	delete(b.waiters, t)
	delete(b.byName[w.name], t)
	if len(b.byName[w.name]) == 0 {
		delete(b.byName, w.name)
	}
}

func (b *inbox) wake(name string, n store.Notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.byName[name] {
		w.deliver(n)
	}
}

// wakeAll: notices may have been lost, so everybody claims again.
func (b *inbox) wakeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.waiters {
		w.deliver(store.Notice{})
	}
}
