package reservation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
)

// A is slow on its way to the provider; B takes over and never gets there; C runs; A arrives.
func TestTheGenerationStaysWhileAFormerOwnerMayCharge(t *testing.T) {
	play := func(t *testing.T, s *setting) {
		b := newBank(true)
		c := s.coordinator(reservation.Config{})
		gate := make(chan struct{})
		a := start(context.Background(), c, request(t, 100), func(ctx context.Context) ([]byte, error) {
			<-gate
			return b.charge(nil)(ctx)
		})
		s.endLeases()
		do(context.Background(), c, request(t, 100), failing(fmt.Errorf("%w: %w", idempotency.ErrNoEffect, errors.New("connection refused"))))
		do(context.Background(), c, request(t, 100), b.charge(nil))
		close(gate)
		synctest.Wait()
		<-a
		if b.charges != 1 {
			t.Errorf("%d charges with a provider that honours keys; keys %q", b.charges, b.calls)
		}
	}
	onBoth(t, play)
	t.Run("fenced", func(t *testing.T) { onHonouring(t, play) })
}
