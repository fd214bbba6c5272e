package memstore

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/store"
)

// waiter is one registered Await. The channel holds one notice, so that waking
// never blocks and nothing is missed between Claim and Await.
type waiter struct {
	name   string
	notice chan store.Notice
}

// register is called under the lock, in the same step that found the record
// pending.
func (s *Store) register(name string) store.Ticket {
	s.last++
	s.waiters[s.last] = waiter{name: name, notice: make(chan store.Notice, 1)}
	return s.last
}

// wake is called under the lock. The first notice counts: a waiter that has one
// will return with it.
func (s *Store) wake(name string, n store.Notice) {
	for _, w := range s.waiters {
		if w.name != name {
			continue
		}
		select {
		case w.notice <- n:
		default:
		}
	}
}

// Await implements store.Store. A ticket that is not known (zero, or used up)
// is answered at once by "claim again".
func (s *Store) Await(ctx context.Context, t store.Ticket, limit time.Duration) (store.Notice, error) {
	s.mu.Lock()
	w, known := s.waiters[t]
	s.mu.Unlock()
	if !known {
		return store.Notice{}, nil
	}
	defer s.forget(t)
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

func (s *Store) forget(t store.Ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiters, t)
}
