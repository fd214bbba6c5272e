package reservation_test

import (
	"testing"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

func TestSemantic2_OneRoundTripClaimsOrAnswers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		steps := []struct {
			why    string
			amount int
			want   int64
		}{
			{"fresh: claim and complete", 100, 2},
			{"replay: the claim brings the result", 100, 1},
			{"refusal: the claim brings the fingerprint", 5, 1},
		}
		for _, step := range steps {
			before := s.store.commands()
			do(t.Context(), c, request(t, step.amount), p.charge)
			if n := s.store.commands() - before; n != step.want {
				t.Errorf("%s: %d commands, want %d", step.why, n, step.want)
			}
		}
		if n := p.charges.Load(); n != 1 {
			t.Errorf("%d charges", n)
		}
	})
}

// A store that lost the reply sends the claim again. It must not meet itself as
// a rival.
func TestSemantic2_ClaimingAgainWithTheSameTokenIsTheSameClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		s.store.onClaim = func(_ store.Claim, pass func() (store.Claimed, error)) (store.Claimed, error) {
			_, _ = pass() // applied; the reply is lost
			return pass()
		}
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
		if r := s.record(); r.Fence != 1 {
			t.Errorf("fence %d: the second claim was taken for another's", r.Fence)
		}
	})
}

func TestSemantic2_OneTokenPerCall(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, p, gate := s.coordinator(reservation.Config{}), &till{}, make(chan struct{})
		var tokens []string
		s.store.onClaim = func(c store.Claim, pass func() (store.Claimed, error)) (store.Claimed, error) {
			tokens = append(tokens, c.Token)
			return pass()
		}
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		waiter := start(t.Context(), c, request(t, 100), p.charge)
		s.endLeases() // the waiter claims a second time
		(<-waiter).wants(t, "ch_1", idempotency.Executed, true)
		close(gate)
		<-owner
		if len(tokens) != 3 || tokens[0] == tokens[1] || tokens[1] != tokens[2] {
			t.Errorf("tokens %q: want the owner's, then the waiter's twice", tokens)
		}
	})
}

func TestSemantic2_AnInvalidRequestNeverReachesTheStore(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c := s.coordinator(reservation.Config{})
		padded, bare := request(t, 100), request(t, 100)
		padded.Key = " order-4711"
		bare.Fingerprint = idempotency.Fingerprint{}
		do(t.Context(), c, padded, never(t)).fails(t, idempotency.ErrInvalidKey)
		do(t.Context(), c, bare, never(t)).fails(t, idempotency.ErrInvalidFingerprint)
		if n := s.store.commands(); n != 0 {
			t.Errorf("%d commands", n)
		}
	})
}
