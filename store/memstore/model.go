package memstore

import (
	"time"

	"github.com/idemrace/idemrace/store"
)

// What the explorer asks of the reference besides the ports: it moves the clock
// itself, and must know what would happen without letting it.

// Noticed reports whether an Await of the ticket would return at once with a notice,
// or because nobody knows the ticket.
func (s *Store) Noticed(t store.Ticket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, known := s.waiters[t]
	return !known || len(w.notice) > 0
}

// Renew makes one renewal, as Keep does, and reports whether the claim was kept.
func (s *Store) Renew(r store.Renewal) bool { return s.renew(r) }

// LeaseEnds is when the next claim's lease ends that has not ended by now; ok is
// false if there is none. A pending plain value ends with its ttl.
func (s *Store) LeaseEnds() (at time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clk.Now()
	for _, e := range s.entries {
		if end := e.ends(); end.After(now) && (!ok || end.Before(at)) {
			at, ok = end, true
		}
	}
	return at, ok
}

// ends is when the entry's claim ends, zero if it is none.
func (e *entry) ends() time.Time {
	switch {
	case e.record.State != store.Pending && e.record.State != store.Unknown:
		return time.Time{}
	case e.plain:
		return e.expires
	}
	return e.lease
}

// Digest folds everything that the store holds, entries in no order: each by
// itself, and the sum of all.
func (s *Store) Digest(fold func(e Entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		fold(Entry{Record: e.record, Plain: e.plain, Lease: e.lease, Expires: e.expires})
	}
	for _, w := range s.waiters {
		fold(Entry{Record: store.Record{Name: w.name}, Waits: true, Noticed: len(w.notice) > 0})
	}
}

// Entry is what lies under a name, or a registered waiter. Its bytes must not be
// changed.
type Entry struct {
	Record         store.Record
	Plain          bool
	Lease, Expires time.Time
	Waits, Noticed bool
}
