// Package memstore keeps records in memory: one map under one mutex.
//
// It is the reference that other stores are compared with, so it is written to
// be obviously right, not fast. Several workers may share one [Store]. It
// refuses to keep anything when the process ends: it is for tests, for the
// explorer, and for reading. Its laws are examined by store/storetest.
package memstore

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/store"
)

// Store implements store.Store, store.KV, store.Inspector and store.Controller.
type Store struct {
	clk clock.Clock

	mu      sync.Mutex
	entries map[string]*entry
	waiters map[store.Ticket]waiter
	last    store.Ticket // the last one given out
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.KV         = (*Store)(nil)
	_ store.Inspector  = (*Store)(nil)
	_ store.Controller = (*Store)(nil)
)

// errKind is memory's WRONGTYPE: a plain command met a record, or the reverse.
var errKind = fmt.Errorf("%w: the name holds a value of the other kind: %w", store.ErrUnavailable, store.ErrMisuse)

// entry is what lies under a name: a record, or a plain value of KV.
type entry struct {
	record  store.Record // its LeaseLeft and ExpiresIn are not used: see lease and expires
	plain   bool         // a value of KV, which is record.Result
	lease   time.Time    // until when a claim is exclusive
	expires time.Time    // zero: never, which only a plain value may say
}

// New returns an empty store. Leases and retentions end by clk, and are looked
// at only when an entry is touched; Await and Keep pause on real timers.
func New(clk clock.Clock) *Store {
	return &Store{clk: clk, entries: map[string]*entry{}, waiters: map[store.Ticket]waiter{}}
}

// find returns the live entry, or nil. It forgets one whose time is over.
func (s *Store) find(name string, now time.Time) *entry {
	e := s.entries[name]
	if e != nil && !e.expires.IsZero() && !now.Before(e.expires) {
		delete(s.entries, name)
		return nil
	}
	return e
}

// findRecord is find for the operations of store.Store.
func (s *Store) findRecord(name string, now time.Time) (*entry, error) {
	e := s.find(name, now)
	if e != nil && e.plain {
		return nil, errKind
	}
	return e, nil
}

// seen is the record as it is handed out: a copy, with the time left on it.
func (e *entry) seen(now time.Time) store.Record {
	r := e.record
	r.Result = slices.Clone(r.Result)
	if r.State == store.Pending || r.State == store.Unknown {
		r.LeaseLeft = e.lease.Sub(now)
	}
	r.ExpiresIn = -1
	if !e.expires.IsZero() {
		r.ExpiresIn = e.expires.Sub(now)
	}
	return r
}

// retain sets the entry's own expiry. A record outlives its lease, whatever
// retention was asked for.
func (e *entry) retain(now time.Time, retention time.Duration) {
	e.expires = now.Add(retention)
	if e.expires.Before(e.lease) {
		e.expires = e.lease
	}
}
