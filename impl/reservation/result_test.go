package reservation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// shelf is an offloader in memory.
type shelf struct {
	kept      map[string][]byte
	save, get error
}

func (s *shelf) Save(_ context.Context, req idempotency.Request, result []byte) ([]byte, error) {
	if s.save != nil {
		return nil, s.save
	}
	s.kept = map[string][]byte{req.Key: result}
	return []byte(req.Key), nil
}

func (s *shelf) Load(_ context.Context, _ idempotency.Request, ref []byte) ([]byte, error) {
	return s.kept[string(ref)], s.get
}

var errShelf = errors.New("shelf is closed")

func TestOversizedResults(t *testing.T) {
	const limit = 16
	exact, over := strings.Repeat("x", limit), strings.Repeat("x", limit+1)
	cases := []struct {
		why     string
		offload reservation.Offloader
		result  string
		stored  bool
		form    store.Form
		replay  error // nil: the same result
	}{
		{"at the limit it is kept whole", nil, exact, true, store.Inline, nil},
		{"over it, a reference is kept", &shelf{}, over, true, store.Reference, nil},
		{"no offloader: done, but too large", nil, over, false, store.TooLarge, idempotency.ErrResultTooLarge},
		{"the offloader fails: done, but too large", &shelf{save: errShelf}, over, false, store.TooLarge, idempotency.ErrResultTooLarge},
		{"the reference cannot be followed now", &shelf{get: errShelf}, over, true, store.Reference, idempotency.ErrStoreUnavailable},
	}
	for _, tc := range cases {
		t.Run(tc.why, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *setting) {
				c := s.coordinator(reservation.Config{MaxResult: limit, Offload: tc.offload})
				act := func(context.Context) ([]byte, error) { return []byte(tc.result), nil }
				do(t.Context(), c, request(t, 100), act).wants(t, tc.result, idempotency.Executed, tc.stored)
				if r := s.record(); r.State != store.Done || r.Form != tc.form {
					t.Errorf("%+v", r)
				}
				again := do(t.Context(), c, request(t, 100), never(t))
				if tc.replay != nil {
					again.fails(t, tc.replay)
					return
				}
				again.wants(t, tc.result, idempotency.Replayed, true)
			})
		})
	}
}

// An instance without the offloader must say so, not run again.
func TestAReferenceWithoutAnOffloader(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		with := s.coordinator(reservation.Config{MaxResult: 1, Offload: &shelf{}})
		do(t.Context(), with, request(t, 100), (&till{}).charge).wants(t, "ch_1", idempotency.Executed, true)
		do(t.Context(), s.coordinator(reservation.Config{}), request(t, 100), never(t)).fails(t, idempotency.ErrResultTooLarge)
	})
}
