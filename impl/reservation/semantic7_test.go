package reservation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

func TestSemantic7_WaitersShareOneResultForOneCommandEach(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		var waiters []<-chan answer
		for range 20 {
			waiters = append(waiters, start(t.Context(), c, request(t, 100), never(t)))
		}
		claimed := s.store.commands()
		time.Sleep(reservation.DefaultWaitLimit - time.Second)
		if n := s.store.commands() - claimed; n != 0 {
			t.Errorf("%d commands while waiting", n)
		}
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Executed, true)
		for _, w := range waiters {
			a := <-w
			a.wants(t, "ch_1", idempotency.Waited, true)
			a.Result[0] = '!' // every waiter has bytes of its own
		}
		if n := s.store.claims.Load(); n != 21 {
			t.Errorf("%d claims by 21 callers", n)
		}
		if n := c.Stats(); n.Waited != 20 || n.Executed != 1 {
			t.Errorf("%+v", n)
		}
	})
}

func TestSemantic7_AWaiterGivesUpAtItsLimit(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{WaitLimit: 2 * time.Second}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		began, before := time.Now(), s.store.commands()
		a := do(t.Context(), c, request(t, 100), never(t))
		a.fails(t, idempotency.ErrInProgress)
		if waited := time.Since(began); waited != 2*time.Second {
			t.Errorf("waited %v", waited)
		}
		if n := s.store.commands() - before; n > 3 {
			t.Errorf("%d commands, allowed 3", n)
		}
		wantsRetryAfter(t, a.err, reservation.DefaultLease-2*time.Second)
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Executed, true)
		do(t.Context(), c, request(t, 100), never(t)).wants(t, "ch_1", idempotency.Replayed, true)
	})
}

// The limit counts from the caller's start, also through changes of owner.
func TestSemantic7_TheLimitCountsFromTheCallersStart(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		cfg := reservation.Config{Lease: 4 * time.Second, WaitLimit: 6 * time.Second}
		c, p, gate := s.coordinator(cfg), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		began := time.Now()
		waiter := start(t.Context(), c, request(t, 100), never(t))
		time.Sleep(cfg.Lease)
		// Just before the waiter claims again: it leaves stores a millisecond's grain.
		second := start(t.Context(), c, request(t, 100), p.held(gate))
		(<-waiter).fails(t, idempotency.ErrInProgress)
		if waited := time.Since(began); waited != cfg.WaitLimit {
			t.Errorf("waited %v", waited)
		}
		close(gate)
		<-owner
		<-second
	})
}

func wantsRetryAfter(t *testing.T, err error, want time.Duration) {
	t.Helper()
	var busy *idempotency.InProgressError
	if !errors.As(err, &busy) || busy.RetryAfter != want {
		t.Errorf("error %v (%+v), want RetryAfter %v", err, busy, want)
	}
}

func TestSemantic7_ANudgeMakesWaitersClaimAgain(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		waiters := []<-chan answer{
			start(t.Context(), c, request(t, 100), p.charge),
			start(t.Context(), c, request(t, 100), p.charge),
		}
		s.endLeases()
		sources := map[idempotency.Source]int{}
		for _, w := range waiters {
			a := <-w
			a.wants(t, "ch_1", a.Source, true)
			sources[a.Source]++
		}
		if sources[idempotency.Executed] != 1 || sources[idempotency.Waited] != 1 {
			t.Errorf("sources %v: one takes over, the other waits for it", sources)
		}
		close(gate)
		<-owner
	})
}

// A final found by the claim after a wait is still another call's doing.
func TestSemantic7_ALostNoticeIsMadeGoodByClaimingAgain(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		s.store.Store = loseNotices{s.mem}
		waiter := start(t.Context(), c, request(t, 100), never(t))
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Executed, true)
		(<-waiter).wants(t, "ch_1", idempotency.Waited, true)
	})
}

func TestSemantic7_RaiseAnswersAtOnceWithTheLeaseLeft(t *testing.T) {
	inBubble(t, both["raise"], func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		time.Sleep(10 * time.Second)
		began, before := time.Now(), s.store.commands()
		a := do(t.Context(), c, request(t, 100), never(t))
		a.fails(t, idempotency.ErrInProgress)
		wantsRetryAfter(t, a.err, reservation.DefaultLease-10*time.Second)
		if !time.Now().Equal(began) || s.store.commands()-before != 1 || s.store.awaits.Load() != 0 {
			t.Error("raise waited")
		}
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Executed, true)
		do(t.Context(), c, request(t, 100), never(t)).wants(t, "ch_1", idempotency.Replayed, true)
	})
}

// loseNotices turns every settled notice into "notices may have been lost".
type loseNotices struct{ store.Store }

func (l loseNotices) Await(ctx context.Context, t store.Ticket, limit time.Duration) (store.Notice, error) {
	_, err := l.Store.Await(ctx, t, limit)
	return store.Notice{}, err
}

// Under a scheduler the limit may pass while the clock stands still. The store's
// word counts, or the waiter would claim for ever.
func TestSemantic7_TheStoreSaysThatTheLimitHasPassed(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		s.store.Store = limitPasses{s.mem}
		s.store.onClaim = func(_ store.Claim, pass func() (store.Claimed, error)) (store.Claimed, error) {
			if s.store.claims.Load() > 10 {
				return store.Claimed{}, errDown // ends a waiter that would not stop
			}
			return pass()
		}
		do(t.Context(), c, request(t, 100), never(t)).fails(t, idempotency.ErrInProgress)
		close(gate)
		<-owner
	})
}

// limitPasses ends every wait at once, by its limit.
type limitPasses struct{ store.Store }

func (limitPasses) Await(context.Context, store.Ticket, time.Duration) (store.Notice, error) {
	return store.Notice{Limit: true}, nil
}
