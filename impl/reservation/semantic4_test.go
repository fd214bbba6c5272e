package reservation_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

func TestSemantic4_AnOwnerOutlivesItsClient(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		ctx, hangUp := context.WithCancel(t.Context())
		owner := start(ctx, c, request(t, 100), func(ctx context.Context) ([]byte, error) {
			<-gate
			if err := ctx.Err(); err != nil {
				t.Errorf("the action's context ended with the client's: %v", err)
			}
			return p.charge(ctx)
		})
		hangUp()
		synctest.Wait()
		select {
		case <-owner:
			t.Error("Do returned while its action was running")
		default:
		}
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Executed, true)
		do(t.Context(), c, request(t, 100), never(t)).wants(t, "ch_1", idempotency.Replayed, true)
	})
}

func TestSemantic4_AWaiterReturnsWithItsClientAndChangesNothing(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		ctx, hangUp := context.WithCancel(t.Context())
		waiter := start(ctx, c, request(t, 100), never(t))
		standing := s.record()
		hangUp()
		a := <-waiter
		a.fails(t, context.Canceled)
		if errors.Is(a.err, idempotency.ErrStoreUnavailable) || c.Stats().StoreErrors != 0 {
			t.Errorf("the client left, and the store was blamed: %v", a.err)
		}
		if r := s.record(); r.State != standing.State || r.Token != standing.Token || r.Fence != standing.Fence {
			t.Errorf("after the waiter left: %+v; before: %+v", r, standing)
		}
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Executed, true)
	})
}

func TestSemantic4_AClientThatHasLeftStartsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c := s.coordinator(reservation.Config{})
		ctx, hangUp := context.WithCancel(t.Context())
		hangUp()
		do(ctx, c, request(t, 100), never(t)).fails(t, context.Canceled)
		if n := s.store.commands(); n != 0 {
			t.Errorf("%d commands", n)
		}
	})
}

// A claim cut short may have been applied; the store must see it through.
func TestSemantic4_TheClaimIsNotCutShortByTheClient(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		ctx, hangUp := context.WithCancel(t.Context())
		s.store.onClaim = func(_ store.Claim, pass func() (store.Claimed, error)) (store.Claimed, error) {
			hangUp()
			return pass() // memstore refuses a context that has ended
		}
		do(ctx, c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
	})
}

func TestSemantic4_AFailedClaimOfAClientThatHasLeftNeverRuns(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c := s.coordinator(reservation.Config{StoreDown: reservation.FailOpen})
		ctx, hangUp := context.WithCancel(t.Context())
		s.store.onClaim = func(store.Claim, func() (store.Claimed, error)) (store.Claimed, error) {
			hangUp()
			return store.Claimed{}, errDown
		}
		do(ctx, c, request(t, 100), never(t)).fails(t, context.Canceled)
	})
}

func TestSemantic4_CompletingIsTriedAgainUntilTheStoreIsBack(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		s.store.settlesFail(true)
		time.AfterFunc(500*time.Millisecond, func() { s.store.settlesFail(false) })
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
		if n := s.store.settles.Load(); n < 3 || n > 20 {
			t.Errorf("%d tries: want a few, with growing pauses", n)
		}
	})
}

// The bubble's time is exact, so the budget can be held to the nanosecond.
func TestSemantic4_CompletingStopsWithItsBudgetOrTheLease(t *testing.T) {
	const lease, budget = 10 * time.Second, 2 * time.Second
	cases := []struct {
		why       string
		runs      time.Duration
		most      time.Duration // from the action's end to the answer
		leastTrys int64
	}{
		{"a quick action has the whole budget", 0, budget, 5},
		{"a slow one has what the lease leaves", lease - 100*time.Millisecond, 100 * time.Millisecond, 2},
		{"after the lease there is one try", lease + time.Second, 0, 1},
	}
	for _, tc := range cases {
		t.Run(tc.why, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *setting) {
				c, p := s.coordinator(reservation.Config{Lease: lease, CompleteFor: budget}), &till{}
				s.store.settlesFail(true)
				var ended time.Time
				do(t.Context(), c, request(t, 100), func(ctx context.Context) ([]byte, error) {
					time.Sleep(tc.runs)
					ended = time.Now()
					return p.charge(ctx)
				}).wants(t, "ch_1", idempotency.Executed, false)
				if took := time.Since(ended); took > tc.most {
					t.Errorf("tried for %v, allowed %v", took, tc.most)
				}
				if n := s.store.settles.Load(); n < tc.leastTrys {
					t.Errorf("%d tries, want at least %d", n, tc.leastTrys)
				}
				if r := s.record(); r.State != store.Pending {
					t.Errorf("the claim was not left in place: %+v", r)
				}
				if n := c.Stats(); n.NotStored != 1 || n.StoreErrors != s.store.settles.Load() {
					t.Errorf("%+v", n)
				}
			})
		})
	}
}

func TestSemantic4_APanicMarksUnknownAndGoesOn(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c := s.coordinator(reservation.Config{})
		panicked := func() (value any) {
			defer func() { value = recover() }()
			do(t.Context(), c, request(t, 100), func(context.Context) ([]byte, error) { panic("out of paper") })
			return nil
		}()
		if panicked != "out of paper" {
			t.Errorf("recovered %v", panicked)
		}
		if r := s.record(); r.State != store.Unknown {
			t.Errorf("%+v", r)
		}
		do(t.Context(), c, request(t, 100), never(t)).fails(t, idempotency.ErrInProgress)
	})
}

func TestSemantic4_TheActionIsHandedTheProviderKey(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p, req := s.coordinator(reservation.Config{}), &till{}, request(t, 100)
		noEffect := errors.Join(errCard, idempotency.ErrNoEffect)
		do(t.Context(), c, req, failing(noEffect)) // nobody can have charged: a new key
		do(t.Context(), c, req, failing(errCard))  // may have charged: the same key again
		do(t.Context(), c, req, failing(noEffect)) // this one has not, but the one before may have
		do(t.Context(), c, req, p.charge).wants(t, "ch_1", idempotency.Executed, true)
		if got := p.key.Load(); got != req.ProviderKey(2) {
			t.Errorf("provider key %q, want that of generation 2, %q", got, req.ProviderKey(2))
		}
	})
}
