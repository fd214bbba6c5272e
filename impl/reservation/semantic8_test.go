package reservation_test

import (
	"context"
	"testing"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/raise"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

func TestSemantic8_FailOpenRunsUnprotected(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p, req := s.coordinator(reservation.Config{}), &till{}, request(t, 100)
		s.store.claimsFail(true)
		s.store.settlesFail(true)
		do(t.Context(), c, req, p.charge).wants(t, "ch_1", idempotency.Unprotected, false)
		if got := p.key.Load(); got != req.ProviderKey(1) {
			t.Errorf("provider key %q, want that of generation 1", got)
		}
		if n := s.store.settles.Load(); n != 1 {
			t.Errorf("%d tries to complete, want one", n)
		}
		if n := c.Stats(); n.Unprotected != 1 || n.Executed != 0 || n.StoreErrors != 2 || n.NotStored != 1 {
			t.Errorf("%+v", n)
		}
	})
}

func TestSemantic8_FailClosedRunsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c := s.coordinator(reservation.Config{StoreDown: reservation.FailClosed})
		s.store.claimsFail(true)
		do(t.Context(), c, request(t, 100), never(t)).fails(t, idempotency.ErrStoreUnavailable, errDown)
		if n := c.Stats(); n.Refused != 1 || n.StoreErrors != 1 || n.Unprotected != 0 {
			t.Errorf("%+v", n)
		}
	})
}

func TestSemantic8_AnUnprotectedRunIsStillCompleted(t *testing.T) {
	lose := func(_ store.Claim, pass func() (store.Claimed, error)) (store.Claimed, error) {
		_, _ = pass()
		return store.Claimed{}, errDown
	}
	refuse := func(store.Claim, func() (store.Claimed, error)) (store.Claimed, error) {
		return store.Claimed{}, errDown
	}
	cases := map[string]func(store.Claim, func() (store.Claimed, error)) (store.Claimed, error){
		"the claim was applied and its reply lost": lose,
		"the claim never arrived":                  refuse,
	}
	for why, onClaim := range cases {
		t.Run(why, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *setting) {
				c, p := s.coordinator(reservation.Config{}), &till{}
				s.store.onClaim = onClaim
				do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Unprotected, true)
				s.store.claimsFail(false)
				do(t.Context(), c, request(t, 100), never(t)).wants(t, "ch_1", idempotency.Replayed, true)
			})
		})
	}
}

func TestSemantic8_AnUnprotectedFailureLeavesNothingStuck(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		s.store.onClaim = func(_ store.Claim, pass func() (store.Claimed, error)) (store.Claimed, error) {
			_, _ = pass()
			return store.Claimed{}, errDown
		}
		do(t.Context(), c, request(t, 100), failing(errCard)).fails(t, errCard)
		s.store.claimsFail(false)
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
	})
}

func TestSemantic8_AnUnprotectedRunMeetsAnothersFinal(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
		s.store.claimsFail(true)
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Superseded, true)
		s.wantsOrphan("ch_2", "ch_1")
	})
}

func TestSemantic8_AnUnprotectedRunMeetsAnothersClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		s.store.claimsFail(true)
		do(t.Context(), c, request(t, 100), p.charge).fails(t, idempotency.ErrInProgress)
		s.wantsOrphan("ch_1", "")
		close(gate)
		(<-owner).wants(t, "ch_2", idempotency.Executed, true)
	})
}

// Another payload's answer is never handed out, whatever has been charged.
func TestSemantic8_AnUnprotectedRunMeetsAnotherPayload(t *testing.T) {
	firsts := map[string]func(*till) idempotency.Action{
		"done":     func(p *till) idempotency.Action { return p.charge },
		"released": func(*till) idempotency.Action { return failing(errCard) },
	}
	for why, first := range firsts {
		t.Run(why, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *setting) {
				c, p := s.coordinator(reservation.Config{}), &till{}
				do(t.Context(), c, request(t, 100), first(p))
				standing := s.record()
				s.store.claimsFail(true)
				effect := func(context.Context) ([]byte, error) { return []byte("other"), nil }
				do(t.Context(), c, request(t, 5), effect).fails(t, idempotency.ErrKeyReused)
				s.wantsOrphan("other", "")
				if r := s.record(); r.State != standing.State || string(r.Result) != string(standing.Result) {
					t.Errorf("the record changed: %+v; before %+v", r, standing)
				}
			})
		})
	}
}

func TestSemantic8_WhoHasSeenAPendingRecordNeverRuns(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{StoreDown: reservation.FailOpen}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		waiter := start(t.Context(), c, request(t, 100), never(t))
		s.store.claimsFail(true)
		s.endLeases() // the waiter claims again
		(<-waiter).fails(t, idempotency.ErrStoreUnavailable, errDown)
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Executed, true)
	})
}

func TestSemantic8_AFailedWaitNeverRuns(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{StoreDown: reservation.FailOpen}), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		s.store.onAwait = func() error { return errDown }
		do(t.Context(), c, request(t, 100), never(t)).fails(t, idempotency.ErrStoreUnavailable, errDown)
		close(gate)
		(<-owner).wants(t, "ch_1", idempotency.Executed, true)
	})
}

// A fingerprint of a version to come cannot be compared: neither policy runs.
func TestSemantic8_AnUnknownFingerprintVersionNeverRuns(t *testing.T) {
	for _, policy := range []reservation.Policy{reservation.FailOpen, reservation.FailClosed} {
		for _, state := range []store.State{store.Pending, store.Done} {
			t.Run(string(policy)+" "+string(state), func(t *testing.T) {
				onBoth(t, func(t *testing.T, s *setting) {
					c, req := s.coordinator(reservation.Config{StoreDown: policy}), request(t, 100)
					future := store.Claim{
						Name: req.StoredName(), Token: "t", Fingerprint: "v99:abc", Fingerprints: []string{"v99:abc"},
						Lease: time.Minute, Retention: time.Hour,
					}
					if _, err := s.mem.Claim(t.Context(), future); err != nil {
						t.Fatal(err)
					}
					if state == store.Done {
						_, _ = s.mem.Settle(t.Context(), store.Settlement{Name: future.Name, Token: "t", To: store.Done, Retention: time.Hour})
					}
					a := do(t.Context(), c, req, never(t))
					a.fails(t, idempotency.ErrStoreUnavailable, idempotency.ErrUnknownVersion)
				})
			})
		}
	}
}

func TestSemantic8_AStoreThatFailsAfterTheEffectKeepsTheSuccess(t *testing.T) {
	for _, policy := range []reservation.Policy{reservation.FailOpen, reservation.FailClosed} {
		t.Run(string(policy), func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *setting) {
				c, p := s.coordinator(reservation.Config{StoreDown: policy}), &till{}
				s.store.settlesFail(true)
				do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, false)
				// Until the lease ends the key stays claimed: a retry cannot charge again.
				s.newOne = raise.New // a duplicate that does not wait
				do(t.Context(), s.coordinator(reservation.Config{}), request(t, 100), never(t)).fails(t, idempotency.ErrInProgress)
			})
		})
	}
}
