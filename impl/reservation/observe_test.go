package reservation_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
)

func TestWhatGoesWrongIsLoggedWithoutTheKey(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		var lines bytes.Buffer
		cfg := reservation.Config{Logger: slog.New(slog.NewTextHandler(&lines, nil)), MaxResult: 1}
		c, p, gate := s.coordinator(cfg), &till{}, make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), p.held(gate))
		s.endLeases()
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, false)
		close(gate)
		(<-owner).fails(t, idempotency.ErrResultTooLarge)
		s.store.claimsFail(true)
		s.store.settlesFail(true)
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_3", idempotency.Unprotected, false)

		for _, want := range []string{"lease lost", "orphan", "too large", "running unprotected", "store error", "not stored", "operation=order.create", "record="} {
			if !strings.Contains(lines.String(), want) {
				t.Errorf("no line says %q", want)
			}
		}
		for _, secret := range []string{"4711", "shop"} {
			if strings.Contains(lines.String(), secret) {
				t.Errorf("the log shows %q:\n%s", secret, &lines)
			}
		}
	})
}

func TestStatsCountEachAnswerOnce(t *testing.T) {
	inBubble(t, both["raise"], func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		do(t.Context(), c, request(t, 100), failing(errCard)) // failed
		do(t.Context(), c, request(t, 100), p.charge)         // executed
		do(t.Context(), c, request(t, 100), p.charge)         // replayed
		do(t.Context(), c, request(t, 5), p.charge)           // refused
		want := reservation.Stats{Executed: 2, Failed: 1, Replayed: 1, Refused: 1}
		if got := c.Stats(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}
