package reservation_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// A record outlives its lease: fingerprint and fence are there for who comes after.
func TestSemantic1_TakeoverKeepsFingerprintAndRaisesTheFence(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		before := s.record()

		time.Sleep(reservation.DefaultLease)
		do(t.Context(), c, request(t, 5), never(t)).fails(t, idempotency.ErrKeyReused)
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)

		after := s.record()
		if after.Fingerprint != before.Fingerprint || after.Fence != before.Fence+1 {
			t.Errorf("after takeover: %+v; before: %+v", after, before)
		}
		close(gate)
		<-owner
	})
}

func TestSemantic1_TheRecordsOwnExpiryIsTheRetention(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{Retention: time.Hour}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		if r := s.record(); r.State != store.Pending || r.ExpiresIn != time.Hour {
			t.Errorf("in flight: %+v", r)
		}
		time.Sleep(time.Second)
		close(gate)
		<-owner
		if r := s.record(); r.State != store.Done || r.ExpiresIn != time.Hour {
			t.Errorf("done: %+v", r)
		}
	})
}

// The deadline counts from before the claim was sent, so no clock of another
// machine has a say, and a slow claim shortens the run instead of the margin.
func TestSemantic1_TheActionsDeadlineLeavesTheCompletionBudget(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c := s.coordinator(reservation.Config{Lease: 20 * time.Second, CompleteFor: 2 * time.Second})
		s.store.onClaim = func(_ store.Claim, pass func() (store.Claimed, error)) (store.Claimed, error) {
			time.Sleep(3 * time.Second)
			return pass()
		}
		sent := time.Now()
		do(t.Context(), c, request(t, 100), func(ctx context.Context) ([]byte, error) {
			if at, ok := ctx.Deadline(); !ok || at.Sub(sent) != 18*time.Second {
				t.Errorf("deadline %v after the claim was sent (%v)", at.Sub(sent), ok)
			}
			return []byte("ch_1"), nil
		})
	})
}

func TestSemantic1_AWaiterTakesOverWhenTheLeaseEnds(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		cfg := reservation.Config{Lease: 10 * time.Second, WaitLimit: time.Minute}
		c, p, gate := s.coordinator(cfg), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		began := time.Now()
		waiter := start(t.Context(), c, request(t, 100), p.charge)
		(<-waiter).wants(t, "ch_1", idempotency.Executed, true)
		if waited := time.Since(began); waited > cfg.Lease+time.Millisecond {
			t.Errorf("took over after %v: the lease was %v", waited, cfg.Lease)
		}
		if fence := s.record().Fence; fence != 2 {
			t.Errorf("fence %d", fence)
		}
		close(gate)
		synctest.Wait()
		<-owner
	})
}
