package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Records implements store.Inspector; they come in the order of their names.
func (s *Store) Records(ctx context.Context) ([]store.Record, error) {
	var records []store.Record
	_, err := s.each(ctx, func(name string, e *entry, now time.Time) bool {
		records = append(records, e.inspected(now))
		return true
	})
	slices.SortFunc(records, func(a, b store.Record) int { return strings.Compare(a.Name, b.Name) })
	return records, err
}

// inspected is seen, read as an Inspector must read a plain value: its ttl is
// the only lease that a pending one has.
func (e *entry) inspected(now time.Time) store.Record {
	r := e.seen(now)
	if !e.plain {
		return r
	}
	r.LeaseLeft = 0
	if r.State == store.Pending && r.ExpiresIn > 0 {
		r.LeaseLeft = r.ExpiresIn
	}
	if r.State != store.Done {
		r.Result = nil
	}
	return r
}

// EndLeases implements store.Controller.
func (s *Store) EndLeases(ctx context.Context) (int, error) {
	return s.each(ctx, func(name string, e *entry, now time.Time) bool {
		held := e.record.State == store.Pending || e.record.State == store.Unknown
		switch {
		case e.plain && e.record.State == store.Pending:
			delete(s.entries, name)
			return true
		case e.plain || !held:
			return false
		}
		ended := now.Before(e.lease)
		e.lease = now
		s.wake(name, store.Notice{})
		return ended
	})
}

// SetExpiry implements store.Controller.
func (s *Store) SetExpiry(ctx context.Context, d time.Duration) (int, error) {
	return s.each(ctx, func(name string, e *entry, now time.Time) bool {
		if e.record.State != store.Done {
			return false
		}
		e.expires = now.Add(d)
		return true
	})
}

// Purge implements store.Controller.
func (s *Store) Purge(ctx context.Context) (int, error) {
	return s.each(ctx, func(name string, _ *entry, _ time.Time) bool {
		delete(s.entries, name)
		return true
	})
}

// each visits every live entry under the lock and counts those of which visit
// says true.
func (s *Store) each(ctx context.Context, visit func(name string, e *entry, now time.Time) bool) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clk.Now()
	n := 0
	for name := range s.entries {
		if e := s.find(name, now); e != nil && visit(name, e, now) {
			n++
		}
	}
	return n, nil
}
