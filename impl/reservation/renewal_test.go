package reservation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/impl/wait"
	"github.com/idemrace/idemrace/store"
)

const shortLease = 10 * time.Second

// slow charges after six leases and a half, while a second client comes in the
// sixth.
func slow(t *testing.T, s *setting, second func(*till) idempotency.Action) (p *till, owner <-chan answer, late answer) {
	c, p := s.coordinator(reservation.Config{Lease: shortLease, WaitLimit: time.Second}), &till{}
	owner = start(t.Context(), c, request(t, 100), func(ctx context.Context) ([]byte, error) {
		time.Sleep(6*shortLease + shortLease/2)
		return p.charge(ctx)
	})
	time.Sleep(5*shortLease + shortLease/2)
	return p, owner, do(t.Context(), c, request(t, 100), second(p))
}

func TestRenewalKeepsTheClaimOfALongAction(t *testing.T) {
	for why, honours := range map[string]bool{"keys honoured": true, "keys ignored": false} {
		t.Run(why, func(t *testing.T) {
			inBubble(t, careful(honours), func(t *testing.T, s *setting) {
				_, owner, late := slow(t, s, func(*till) idempotency.Action { return never(t) })
				late.fails(t, idempotency.ErrInProgress)
				(<-owner).wants(t, "ch_1", idempotency.Executed, true)
				if r := s.record(); r.Fence != 1 || r.State != store.Done {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

// The twin: without renewal the same script charges twice.
func TestWithoutRenewalALongActionIsOvertaken(t *testing.T) {
	inBubble(t, wait.New, func(t *testing.T, s *setting) {
		p, owner, late := slow(t, s, func(p *till) idempotency.Action { return p.charge })
		late.wants(t, "ch_1", idempotency.Executed, true)
		(<-owner).wants(t, "ch_1", idempotency.Superseded, true)
		if p.charges.Load() != 2 || len(s.orphans) != 1 {
			t.Errorf("%d charges, orphans %v", p.charges.Load(), s.orphans)
		}
	})
}

func TestRenewalEndsWithMaxRun(t *testing.T) {
	const most = 25 * time.Second
	onIgnoring(t, func(t *testing.T, s *setting) {
		c := s.coordinator(reservation.Config{Lease: shortLease, MaxRun: most})
		began := time.Now()
		do(t.Context(), c, request(t, 100), func(ctx context.Context) ([]byte, error) {
			if end, ok := ctx.Deadline(); !ok || end.Sub(began) != most {
				t.Errorf("deadline %v, %v; the action must know when its time is up", end.Sub(began), ok)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}).fails(t, idempotency.ErrUnknownOutcome)
		if took := time.Since(began); took != most {
			t.Errorf("the action ended after %v", took)
		}
		if r, n := s.record(), c.Stats(); r.State != store.Unknown || n.CutOff != 1 || n.LeasesLost != 0 {
			t.Errorf("%+v, %+v", r, n)
		}
	})
}

// Whatever the action makes of its context's end, whoever took over owns the key.
func TestALostLeaseEndsTheAction(t *testing.T) {
	noEffect := errors.Join(errCard, idempotency.ErrNoEffect)
	cases := []struct {
		why    string
		err    error
		wanted []error
	}{
		{"its own error is unknown, for the charge may be on its way", errCard, []error{idempotency.ErrUnknownOutcome, store.ErrLeaseLost, errCard}},
		{"that nothing was done is believed, but it is not the last word", noEffect, []error{idempotency.ErrInProgress}},
	}
	for _, tc := range cases {
		t.Run(tc.why, func(t *testing.T) {
			onHonouring(t, func(t *testing.T, s *setting) {
				c, gate := s.coordinator(reservation.Config{Lease: shortLease}), make(chan struct{})
				owner := start(t.Context(), c, request(t, 100), func(ctx context.Context) ([]byte, error) {
					<-ctx.Done()
					return nil, tc.err
				})
				s.endLeases()
				taker := start(t.Context(), c, request(t, 100), (&till{}).held(gate))
				lost := time.Now()
				late := <-owner
				late.fails(t, tc.wanted...)
				if unknown := errors.Is(late.err, idempotency.ErrUnknownOutcome); unknown == errors.Is(tc.err, idempotency.ErrNoEffect) {
					t.Errorf("unknown %v: %v", unknown, late.err)
				}
				if took := time.Since(lost); took > shortLease/3 {
					t.Errorf("noticed after %v, later than the next renewal", took)
				}
				if n := c.Stats(); n.CutOff != 1 || n.LeasesLost != 1 {
					t.Errorf("not reported: %+v", n)
				}
				if r := s.record(); r.State != store.Pending || r.Fence != 2 || r.Generation != 1 {
					t.Errorf("the late owner changed the taker's record: %+v", r)
				}
				close(gate)
				(<-taker).wants(t, "ch_1", idempotency.Executed, true)
			})
		})
	}
}

// An action that ends by itself in time is no case for this.
func TestAnErrorInTimeIsNotCutOff(t *testing.T) {
	onHonouring(t, func(t *testing.T, s *setting) {
		c := s.coordinator(reservation.Config{})
		do(t.Context(), c, request(t, 100), failing(errCard)).fails(t, idempotency.ErrUnknownOutcome, errCard)
		if n := c.Stats(); n.CutOff != 0 {
			t.Errorf("%+v", n)
		}
	})
}

// The lease that counts for completing is the renewed one.
func TestCompletingALongActionIsTriedAgain(t *testing.T) {
	onIgnoring(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{Lease: shortLease}), &till{}
		do(t.Context(), c, request(t, 100), func(ctx context.Context) ([]byte, error) {
			time.Sleep(3 * shortLease)
			s.store.settlesFail(true)
			time.AfterFunc(500*time.Millisecond, func() { s.store.settlesFail(false) })
			return p.charge(ctx)
		}).wants(t, "ch_1", idempotency.Executed, true)
	})
}

func TestAPanicStopsTheRenewal(t *testing.T) {
	onIgnoring(t, func(t *testing.T, s *setting) {
		c := s.coordinator(reservation.Config{Lease: shortLease})
		func() {
			defer func() { _ = recover() }()
			do(t.Context(), c, request(t, 100), func(context.Context) ([]byte, error) { panic("out of paper") })
		}()
		time.Sleep(2 * shortLease) // the bubble would not end with a renewal running
		if r := s.record(); r.State != store.Unknown || r.LeaseLeft > 0 {
			t.Errorf("%+v", r)
		}
	})
}
