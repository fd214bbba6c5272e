// Package inflightbeforemismatch waits as wait does, and looks at the payload
// only when the key is at rest.
//
// What is wrong: another payload that meets a claim is told "in progress". Its
// client waits, tries again, and would have known long ago that its key is wrong;
// and it learns that somebody uses that key.
//
// Seen in idempot-js 183.
//
// Right: mismatch first, in every state. A record keeps its fingerprint from the
// first claim on.
package inflightbeforemismatch

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*reservation.Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	return reservation.New(hasty{s}, clk, reservation.DuplicatesWait, cfg)
}

// hasty sees that a key is claimed, and looks no further.
type hasty struct{ store.Store }

func (s hasty) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	got, err := s.Store.Claim(ctx, c)
	if !got.Mine && got.Record.State == store.Pending {
		got.Record.Fingerprint = c.Fingerprint
	}
	return got, err
}
