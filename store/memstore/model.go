package memstore

import (
	"time"

	"github.com/idemrace/idemrace/store"
)

// What the explorer asks of the reference besides the ports: it moves the clock
// itself, and must know what would happen without letting it.

// Noticed is what an Await of the ticket would return at once; ok is false if it
// would wait.
func (s *Store) Noticed(t store.Ticket) (n store.Notice, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, known := s.waiters[t]
	if !known {
		return n, true
	}
	select {
	case n = <-w.notice:
		w.notice <- n // it stays there for its Await
		return n, true
	default:
		return n, false
	}
}

// Forget uses a ticket up, as its Await does.
func (s *Store) Forget(t store.Ticket) { s.forget(t) }

// Renew makes one renewal, as Keep does, and reports whether the claim was kept.
func (s *Store) Renew(r store.Renewal) bool { return s.renew(r) }

// Ends is when the next claim ends that has not ended by now: by its lease, or,
// for a pending plain value, its ttl. A final that ends before early counts too, for
// it ends too soon. ok is false if there is none.
func (s *Store) Ends(early time.Time) (at time.Time, final, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clk.Now()
	for _, e := range s.entries {
		end, isFinal := e.ends(early)
		if end.After(now) && (!ok || end.Before(at)) {
			at, final, ok = end, isFinal, true
		}
	}
	return at, final, ok
}

// ends is when the entry's claim ends, zero if nothing does.
func (e *entry) ends(early time.Time) (at time.Time, final bool) {
	held := e.record.State == store.Pending || e.record.State == store.Unknown
	switch {
	case held && !e.plain:
		return e.lease, false
	case held || e.expires.Before(early):
		return e.expires, !held
	}
	return time.Time{}, false
}

// Digest hands over everything that lies in the store, in no order: the record, which
// must not be changed, whether it is a plain value, and when its lease and it itself
// end. Waiters are left out: Noticed tells of them.
func (s *Store) Digest(fold func(r *store.Record, plain bool, lease, expires time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clk.Now()
	for name := range s.entries {
		if e := s.find(name, now); e != nil {
			fold(&e.record, e.plain, e.lease, e.expires)
		}
	}
}

// Reset empties the store, so that it need not be made anew.
func (s *Store) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.entries)
	clear(s.waiters)
	s.last = 0
}
