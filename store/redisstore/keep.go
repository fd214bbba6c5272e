package redisstore

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Keep implements store.Store. A renewal that fails because the server is away
// is tried again at the next turn: whether the claim is lost can only be known
// from an answer.
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
	over := time.AfterFunc(r.MaxRun, func() { cancel(store.ErrRunTooLong) })
	defer over.Stop()
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if mine, err := r.Renew(func() (bool, error) { return s.renew(ctx, r) }); err == nil && !mine {
				cancel(store.ErrLeaseLost)
				return
			}
		}
	}
}

func (s *Store) renew(ctx context.Context, r store.Renewal) (bool, error) {
	reply, err := s.repeat(ctx, s.scripts.renew.op, r.Name, func(ctx context.Context) (any, error) {
		return s.call(ctx, s.scripts.renew, r.Name, r.Token, millis(r.Lease))
	})
	if err != nil {
		return false, err
	}
	mine, ok := reply.(int64)
	if !ok {
		return false, unavailable(ctx, "renew", errReply)
	}
	return mine == 1, nil
}
