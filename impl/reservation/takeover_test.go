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

// An error that says nothing is an unknown outcome; it is found out by asking
// with the same key, and not before the lease has ended.
func TestAnUnknownOutcomeIsAskedForAfterTheLease(t *testing.T) {
	onHonouring(t, func(t *testing.T, s *setting) {
		c, b, req := s.coordinator(reservation.Config{}), newBank(true), request(t, 100)
		do(t.Context(), c, req, func(ctx context.Context) ([]byte, error) {
			_, _ = b.charge(nil)(ctx)
			return nil, errCard // charged, and says only: failed
		}).fails(t, idempotency.ErrUnknownOutcome, errCard)
		do(t.Context(), c, req, never(t)).fails(t, idempotency.ErrInProgress)
		time.Sleep(reservation.DefaultLease)
		do(t.Context(), c, req, b.charge(nil)).wants(t, "ch_1", idempotency.Executed, true)
		do(t.Context(), c, req, never(t)).wants(t, "ch_1", idempotency.Replayed, true)
		b.saw(t, 1, req.ProviderKey(1), req.ProviderKey(1))
	})
}

// "It is running" is no answer yet: the outcome stays unknown for another lease.
func TestAskingWhileTheFirstCallRuns(t *testing.T) {
	onHonouring(t, func(t *testing.T, s *setting) {
		c, b, req, gate := s.coordinator(reservation.Config{}), newBank(true), request(t, 100), make(chan struct{})
		owner := start(t.Context(), c, req, b.charge(func() { <-gate }))
		s.endLeases()
		do(t.Context(), c, req, b.charge(nil)).fails(t, idempotency.ErrUnknownOutcome, errRunning)
		close(gate)
		(<-owner).fails(t, idempotency.ErrInProgress) // its claim is another's, and nothing stands yet
		if len(s.orphans) != 1 || string(s.orphans[0].Result) != "ch_1" || s.orphans[0].Stands != nil {
			t.Errorf("orphans %+v", s.orphans)
		}
		do(t.Context(), c, req, never(t)).fails(t, idempotency.ErrInProgress)
		time.Sleep(reservation.DefaultLease)
		do(t.Context(), c, req, b.charge(nil)).wants(t, "ch_1", idempotency.Executed, true)
		b.saw(t, 1, req.ProviderKey(1), req.ProviderKey(1), req.ProviderKey(1))
	})
}

// A "no" to who asks is believed for this try, but the key stays: the first call may
// still be on its way, and would charge beside a new one.
func TestAskingIsAnsweredByADecline(t *testing.T) {
	onHonouring(t, func(t *testing.T, s *setting) {
		c, p, req := s.coordinator(reservation.Config{}), &till{}, request(t, 100)
		do(t.Context(), c, req, failing(idempotency.ErrUnknownOutcome))
		time.Sleep(reservation.DefaultLease)
		do(t.Context(), c, req, failing(idempotency.ErrNoEffect)).fails(t, idempotency.ErrNoEffect)
		do(t.Context(), c, req, p.charge).wants(t, "ch_1", idempotency.Executed, true)
		if p.key.Load() != req.ProviderKey(1) {
			t.Errorf("key %v, want that of generation 1", p.key.Load())
		}
	})
}

// With a provider that ignores keys the unknown outcome is a stable answer,
// whenever one comes, and nothing ever runs again.
func TestAnUnknownOutcomeStaysWhereItCannotBeAskedFor(t *testing.T) {
	onIgnoring(t, func(t *testing.T, s *setting) {
		c, b, req := s.coordinator(reservation.Config{}), newBank(false), request(t, 100)
		do(t.Context(), c, req, b.silent).fails(t, idempotency.ErrUnknownOutcome)
		for lease := range 3 {
			before := s.store.commands()
			do(t.Context(), c, req, never(t)).fails(t, idempotency.ErrUnknownOutcome)
			if n := s.store.commands() - before; n != 1 {
				t.Errorf("within a lease: %d commands, want 1", n)
			}
			time.Sleep(reservation.DefaultLease)
			do(t.Context(), c, req, never(t)).fails(t, idempotency.ErrUnknownOutcome)
			if r := s.record(); r.State != store.Unknown || r.Fence != int64(lease+2) || r.Failure == "" {
				t.Errorf("%+v", r)
			}
		}
		if n := c.Stats(); n.Unresolved != 3 || n.Executed != 1 {
			t.Errorf("%+v", n)
		}
		b.saw(t, 1, req.ProviderKey(1))
	})
}

func TestWaitersOfAnOutcomeThatCannotBeAskedFor(t *testing.T) {
	onIgnoring(t, func(t *testing.T, s *setting) {
		c, gate := s.coordinator(reservation.Config{}), make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), afterwards(gate, failing(errCard)))
		waiter := start(t.Context(), c, request(t, 100), never(t))
		close(gate)
		(<-waiter).fails(t, idempotency.ErrUnknownOutcome)
		<-owner
	})
}

// A slow owner made the one charge that there will be: its client is told so,
// and nobody is asked to void it.
func TestAnOwnerThatWasOnlySlowKeepsItsSuccess(t *testing.T) {
	onIgnoring(t, func(t *testing.T, s *setting) {
		c, b, req, gate := s.coordinator(reservation.Config{}), newBank(false), request(t, 100), make(chan struct{})
		owner := start(t.Context(), c, req, b.charge(func() { <-gate }))
		s.endLeases()
		do(t.Context(), c, req, never(t)).fails(t, idempotency.ErrUnknownOutcome)
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Executed, false)
		if n := c.Stats(); n.LeasesLost != 1 || n.NotStored != 1 || n.Orphans != 0 || len(s.orphans) != 0 {
			t.Errorf("%+v, orphans %v", n, s.orphans)
		}
		do(t.Context(), c, req, never(t)).fails(t, idempotency.ErrUnknownOutcome)
		b.saw(t, 1, req.ProviderKey(1))
	})
}

// The store says Took only once. If that reply is lost, the claim that is sent
// again must not look like a fresh one.
func TestATakeoverWhoseReplyWasLostIsStillOne(t *testing.T) {
	onIgnoring(t, func(t *testing.T, s *setting) {
		c, b, req := s.coordinator(reservation.Config{}), newBank(false), request(t, 100)
		do(t.Context(), c, req, b.silent).fails(t, idempotency.ErrUnknownOutcome)
		s.endLeases()
		s.store.onClaim = func(_ store.Claim, pass func() (store.Claimed, error)) (store.Claimed, error) {
			if got, _ := pass(); !got.Took {
				t.Error("the first claim took nothing over")
			}
			got, err := pass()
			if got.Took || !got.Mine {
				t.Errorf("the second: %+v", got)
			}
			return got, err
		}
		do(t.Context(), c, req, never(t)).fails(t, idempotency.ErrUnknownOutcome)
	})
}

// What is known to have had no effect was nobody's charge.
func TestAFailureWithoutEffectIsNoUncertainty(t *testing.T) {
	onIgnoring(t, func(t *testing.T, s *setting) {
		c, b, req := s.coordinator(reservation.Config{}), newBank(false), request(t, 100)
		for range 3 {
			do(t.Context(), c, req, failing(idempotency.ErrNoEffect)).fails(t, idempotency.ErrNoEffect)
		}
		do(t.Context(), c, req, b.charge(nil)).wants(t, "ch_1", idempotency.Executed, true)
		b.saw(t, 1, req.ProviderKey(4))
	})
}

func TestResolveWritesTheFinal(t *testing.T) {
	for why, honours := range map[string]bool{"keys honoured": true, "keys ignored": false} {
		t.Run(why, func(t *testing.T) {
			inBubble(t, careful(honours), func(t *testing.T, s *setting) {
				c, req := s.coordinator(reservation.Config{}), request(t, 100)
				do(t.Context(), c, req, failing(idempotency.ErrUnknownOutcome))
				resolve(t, c, req, "ch_7").fails(t, idempotency.ErrInProgress) // its lease lasts
				time.Sleep(reservation.DefaultLease)
				resolve(t, c, request(t, 5), "ch_7").fails(t, idempotency.ErrKeyReused)
				resolve(t, c, req, "ch_7").wants(t, "ch_7", idempotency.Executed, true)
				resolve(t, c, req, "ch_8").wants(t, "ch_7", idempotency.Replayed, true)
				do(t.Context(), c, req, never(t)).wants(t, "ch_7", idempotency.Replayed, true)
				if n := c.Stats(); n.Executed != 1 {
					t.Errorf("resolving ran something: %+v", n)
				}
			})
		})
	}
}

// Resolve leaves a living owner alone, and writes nothing that it cannot keep.
func TestResolveRefuses(t *testing.T) {
	onIgnoring(t, func(t *testing.T, s *setting) {
		c, p, req, gate := s.coordinator(reservation.Config{StoreDown: reservation.FailOpen}), &till{}, request(t, 100), make(chan struct{})
		owner := start(t.Context(), c, req, p.held(gate))
		began := time.Now()
		resolve(t, c, req, "ch_7").fails(t, idempotency.ErrInProgress)
		if !time.Now().Equal(began) {
			t.Error("it waited for the owner")
		}
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Executed, true)
		s.store.claimsFail(true)
		resolve(t, c, req, "ch_7").fails(t, idempotency.ErrStoreUnavailable)
		resolve(t, c, idempotency.Request{}, "ch_7").fails(t, idempotency.ErrInvalidKey)
	})
}

func resolve(t *testing.T, c *reservation.Coordinator, req idempotency.Request, result string) answer {
	t.Helper()
	out, err := c.Resolve(t.Context(), req, []byte(result))
	return answer{out, err}
}

func TestWithTheStoreDownNothingRuns(t *testing.T) {
	onHonouring(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		s.store.claimsFail(true)
		a := do(t.Context(), c, request(t, 100), never(t))
		a.fails(t, idempotency.ErrStoreUnavailable)
		if !errors.Is(a.err, store.ErrUnavailable) {
			t.Errorf("the cause is missing: %v", a.err)
		}
		s.store.claimsFail(false)
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
	})
}

func TestAFreshRequestIsTwoCommands(t *testing.T) {
	onIgnoring(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
		if n := s.store.commands(); n != 2 {
			t.Errorf("%d commands", n)
		}
		do(t.Context(), c, request(t, 100), never(t)).wants(t, "ch_1", idempotency.Replayed, true)
		if n := s.store.commands(); n != 3 {
			t.Errorf("%d commands with a replay", n)
		}
	})
}
