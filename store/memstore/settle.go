package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Settle implements store.Store.
func (s *Store) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if err := ctx.Err(); err != nil {
		return store.Settled{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clk.Now()
	e, err := s.findRecord(t.Name, now)
	if err != nil {
		return store.Settled{}, err
	}
	if e == nil && t.To != store.Done {
		return store.Settled{Record: store.Record{Name: t.Name}}, nil
	}
	if e == nil {
		e = &entry{record: store.Record{Name: t.Name, State: store.Free, Fingerprint: t.Fingerprint, Generation: 1}}
		s.entries[t.Name] = e
	}
	if e.settledBefore(t) {
		return store.Settled{Applied: true, Record: e.seen(now)}, nil
	}
	if !e.settleable(t) {
		return store.Settled{Record: e.seen(now)}, nil
	}
	e.settle(t, now)
	s.wake(t.Name, store.Notice{Settled: true, Record: e.seen(now)})
	return store.Settled{Applied: true, Record: e.seen(now)}, nil
}

// settledBefore reports whether the same token has settled to the same state:
// its reply was lost, and doing it twice must not count twice.
func (e *entry) settledBefore(t store.Settlement) bool {
	return e.record.State == t.To && e.record.Token == t.Token
}

// settleable: the record is the caller's, lease or no lease; or nobody's, and
// there is a result to keep. A free record of another payload keeps its
// fingerprint, so it must not get this payload's result.
func (e *entry) settleable(t store.Settlement) bool {
	switch e.record.State {
	case store.Pending, store.Unknown:
		return e.record.Token == t.Token
	case store.Free:
		return t.To == store.Done && (t.Fingerprint == "" || t.Fingerprint == e.record.Fingerprint)
	default:
		return false
	}
}

func (e *entry) settle(t store.Settlement, now time.Time) {
	r := &e.record
	if r.State == store.Free {
		r.Fence++ // from nobody's to the caller's
	}
	// While an earlier owner may still charge, its key stays the only one.
	if t.To == store.Free && t.NoEffect && r.Fence == r.Generation {
		r.Generation++
	}
	r.State, r.Token = t.To, t.Token
	r.Form, r.Result, r.Failure = "", nil, t.Failure
	if t.To == store.Done {
		r.Form, r.Result, r.Failure = t.Form, slices.Clone(t.Result), ""
	}
	if t.To != store.Unknown {
		e.lease = time.Time{} // an unknown outcome stays exclusive until its lease ends
	}
	e.retain(now, t.Retention)
}
