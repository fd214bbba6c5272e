package reservation_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

func (s *setting) wantsOrphan(result, stands string) {
	s.t.Helper()
	if len(s.orphans) != 1 {
		s.t.Fatalf("%d orphans, want one: %q", len(s.orphans), s.orphans)
	}
	o := s.orphans[0]
	if string(o.Result) != result || string(o.Stands) != stands || (o.Stands == nil) != (stands == "") {
		s.t.Errorf("orphan %q where %q stands; want %q where %q stands", o.Result, o.Stands, result, stands)
	}
	if o.Request.Key != "order-4711" {
		s.t.Errorf("orphan of %+v", o.Request)
	}
}

func TestSemantic3_ASupersededOwnerAnswersWhatStands(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		s.endLeases()
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Superseded, true)
		s.wantsOrphan("ch_2", "ch_1")
		if n := c.Stats(); n.Superseded != 1 || n.Orphans != 1 || n.LeasesLost != 1 || n.Executed != 2 {
			t.Errorf("%+v", n)
		}
	})
}

func TestSemantic3_ASupersededOwnerIsInProgressWhereNothingStandsYet(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		gateA, gateB := make(chan struct{}), make(chan struct{})
		a := start(t.Context(), c, request(t, 100), p.held(gateA))
		s.endLeases()
		b := start(t.Context(), c, request(t, 100), p.held(gateB))
		close(gateA)
		(<-a).fails(t, idempotency.ErrInProgress)
		s.wantsOrphan("ch_1", "")
		close(gateB)
		(<-b).wants(t, "ch_2", idempotency.Executed, true)
	})
}

func TestSemantic3_CompletesWhatIsNobodyElses(t *testing.T) {
	cases := map[string]func(s *setting){
		"after the lease, nobody took over": func(s *setting) { time.Sleep(2 * reservation.DefaultLease) },
		"absent, the store lost it":         func(s *setting) { _, _ = s.mem.Purge(s.t.Context()) },
	}
	for why, meanwhile := range cases {
		t.Run(why, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *setting) {
				c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
				owner := start(t.Context(), c, request(t, 100), p.held(gate))
				meanwhile(s)
				close(gate)
				(<-owner).wants(t, "ch_1", idempotency.Executed, true)
				do(t.Context(), c, request(t, 100), never(t)).wants(t, "ch_1", idempotency.Replayed, true)
				do(t.Context(), c, request(t, 5), never(t)).fails(t, idempotency.ErrKeyReused)
			})
		})
	}
}

func TestSemantic3_CompletingTwiceIsOneCompletion(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p, lost := s.coordinator(reservation.Config{}), &till{}, false
		s.store.onSettle = func(_ store.Settlement, pass func() (store.Settled, error)) (store.Settled, error) {
			settled, err := pass()
			if !lost {
				lost = true
				return store.Settled{}, errDown // applied; the reply is lost
			}
			return settled, err
		}
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
		if len(s.orphans) != 0 || s.store.settles.Load() != 2 {
			t.Errorf("orphans %v after %d completions", s.orphans, s.store.settles.Load())
		}
	})
}

// A late failure must not take the new owner's claim away: that lets a third in.
func TestSemantic3_ALateFailureLeavesTheNewOwnerAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		gateA, gateB := make(chan struct{}), make(chan struct{})
		a := start(t.Context(), c, request(t, 100), afterwards(gateA, failing(errCard)))
		s.endLeases()
		b := start(t.Context(), c, request(t, 100), p.held(gateB))
		standing := s.record()
		close(gateA)
		(<-a).fails(t, errCard)
		if r := s.record(); r.State != store.Pending || r.Token != standing.Token || r.Fence != standing.Fence {
			t.Errorf("after the late failure: %+v; before: %+v", r, standing)
		}
		close(gateB)
		(<-b).wants(t, "ch_1", idempotency.Executed, true)
		if n := c.Stats().LeasesLost; n != 1 {
			t.Errorf("%d leases lost", n)
		}
	})
}

// A decline speaks of its own call. Its owner was overtaken, and the successor has
// charged, or may: told as the last word, the payment would pass for refused.
func TestSemantic3_ALateDeclineIsNotTheLastWord(t *testing.T) {
	declined := fmt.Errorf("%w: %w", idempotency.ErrNoEffect, errCard)
	for _, row := range []struct {
		why  string
		next idempotency.Action // the successor's
		want error              // what the overtaken owner is told; nil: the successor's result
	}{
		{"the successor has charged", func(context.Context) ([]byte, error) { return []byte("ch_1"), nil }, nil},
		{"nobody knows whether it has", failing(idempotency.ErrUnknownOutcome), idempotency.ErrInProgress},
		{"it was declined too", failing(declined), errCard},
	} {
		t.Run(row.why, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *setting) {
				c, gate := s.coordinator(reservation.Config{}), make(chan struct{})
				owner := start(t.Context(), c, request(t, 100), afterwards(gate, failing(declined)))
				s.endLeases()
				do(t.Context(), c, request(t, 100), row.next)
				close(gate)
				if got := <-owner; row.want == nil {
					got.wants(t, "ch_1", idempotency.Superseded, true)
				} else {
					got.fails(t, row.want)
				}
				if len(s.orphans) > 0 {
					t.Errorf("orphans %q of a decline", s.orphans)
				}
			})
		})
	}
}

// A provider that honours keys gives both executions one charge: to report it as
// an orphan would have the only charge voided.
func TestSemantic3_OneEffectToldTwiceIsNoOrphan(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, gate := s.coordinator(reservation.Config{}), make(chan struct{})
		same := func(context.Context) ([]byte, error) { return []byte("ch_1"), nil }
		owner := start(t.Context(), c, request(t, 100), func(ctx context.Context) ([]byte, error) {
			<-gate
			return same(ctx)
		})
		s.endLeases()
		do(t.Context(), c, request(t, 100), same).wants(t, "ch_1", idempotency.Executed, true)
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Superseded, true)
		if len(s.orphans) != 0 || c.Stats().Orphans != 0 {
			t.Errorf("orphans %q, counted %d: want none", s.orphans, c.Stats().Orphans)
		}
	})
}
