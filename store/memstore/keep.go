package memstore

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Keep implements store.Store. The renewal runs in a goroutine of its own,
// which has ended when stop returns.
func (s *Store) Keep(ctx context.Context, r store.Renewal) (context.Context, func()) {
	if r.Every <= 0 {
		r.Every = max(r.Lease/3, time.Millisecond)
	}
	kept, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.keep(kept, cancel, r)
	}()
	return kept, func() {
		cancel(nil)
		<-ended
	}
}

func (s *Store) keep(ctx context.Context, cancel context.CancelCauseFunc, r store.Renewal) {
	over := time.NewTimer(r.MaxRun)
	defer over.Stop()
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-over.C:
			cancel(store.ErrRunTooLong)
			return
		case <-tick.C:
			if mine, err := r.Renew(func() (bool, error) { return s.renew(r), nil }); err == nil && !mine {
				cancel(store.ErrLeaseLost)
				return
			}
		}
	}
}

// renew lengthens the lease if the claim is still the caller's (or anybody's, if
// the caller does not say who it is), also when the lease has ended and nobody
// took over.
func (s *Store) renew(r store.Renewal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clk.Now()
	e, err := s.findRecord(r.Name, now)
	if err != nil || e == nil || e.record.State != store.Pending || r.Token != "" && e.record.Token != r.Token {
		return false
	}
	e.lease = now.Add(r.Lease)
	if e.expires.Before(e.lease) {
		e.expires = e.lease // a record outlives its lease
	}
	return true
}
