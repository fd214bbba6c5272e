// Package nofingerprint waits as wait does, and does not look at the payload.
//
// What is wrong: a key that comes back with another payload is answered with the
// first one's result. Somebody orders for 5 and is told that 100 was charged; the
// second order is never made.
//
// Seen in idempotency4j 12 and devlink 1195.
//
// Right: store a hash of the fields that define the request beside the claim, and
// refuse what differs.
package nofingerprint

import (
	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator. Its requests must be fingerprinted by Prepare.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*reservation.Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	return reservation.New(s, clk, reservation.DuplicatesWait, cfg)
}

// Prepare gives all payloads one fingerprint.
func Prepare([]byte, []string) (idempotency.Fingerprint, error) {
	return idempotency.FingerprintFields(map[string]any{"payload": nil})
}
