package reservation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
)

// Each case brings the key into a state, by a request for 100; then comes one
// for 5. It must be refused, learn both fingerprints, and change nothing.
func TestSemantic6_MismatchFirstInEveryState(t *testing.T) {
	running := func(s *setting, c *reservation.Coordinator) (finish func()) {
		gate := make(chan struct{})
		owner := start(s.t.Context(), c, request(s.t, 100), (&till{}).held(gate))
		return func() { close(gate); <-owner }
	}
	cases := map[string]func(s *setting, c *reservation.Coordinator) (finish func()){
		"in flight": running,
		"in flight, lease over": func(s *setting, c *reservation.Coordinator) func() {
			finish := running(s, c)
			time.Sleep(reservation.DefaultLease)
			return finish
		},
		"in flight, after a takeover": func(s *setting, c *reservation.Coordinator) func() {
			first := running(s, c)
			time.Sleep(reservation.DefaultLease)
			second := running(s, c)
			return func() { first(); second() }
		},
		"done": func(s *setting, c *reservation.Coordinator) func() {
			running(s, c)()
			return func() {}
		},
		"released": func(s *setting, c *reservation.Coordinator) func() {
			do(s.t.Context(), c, request(s.t, 100), failing(errCard))
			return func() {}
		},
		"unknown": func(s *setting, c *reservation.Coordinator) func() {
			do(s.t.Context(), c, request(s.t, 100), failing(idempotency.ErrUnknownOutcome))
			return func() {}
		},
		"unknown, lease over": func(s *setting, c *reservation.Coordinator) func() {
			do(s.t.Context(), c, request(s.t, 100), failing(idempotency.ErrUnknownOutcome))
			time.Sleep(reservation.DefaultLease)
			return func() {}
		},
	}
	for state, bring := range cases {
		t.Run(state, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *setting) {
				c := s.coordinator(reservation.Config{})
				finish := bring(s, c)
				standing := s.record()
				a := do(t.Context(), c, request(t, 5), never(t))
				a.fails(t, idempotency.ErrKeyReused)
				wantsBothFingerprints(t, a.err, 100, 5)
				if r := s.record(); r.State != standing.State || r.Token != standing.Token || r.Fence != standing.Fence {
					t.Errorf("the refusal changed the record: %+v; before: %+v", r, standing)
				}
				finish()
			})
		})
	}
}

func wantsBothFingerprints(t *testing.T, err error, stored, got int) {
	t.Helper()
	var reused *idempotency.KeyReusedError
	if !errors.As(err, &reused) {
		t.Fatalf("error %v", err)
	}
	want := idempotency.KeyReusedError{
		Stored: request(t, stored).Fingerprint.String(),
		Got:    request(t, got).Fingerprint.String(),
	}
	if *reused != want {
		t.Errorf("fingerprints %+v, want %+v", *reused, want)
	}
}
