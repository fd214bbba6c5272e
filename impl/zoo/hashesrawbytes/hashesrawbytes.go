// Package hashesrawbytes waits as wait does, and compares payloads byte by byte.
//
// What is wrong: a JSON object has no order, and a serialiser keeps none. The
// same request, written again, is other bytes: the honest retry is refused as a
// reuse of the key.
//
// Seen in powertools-python 638 and mojaloop/project 2463.
//
// Right: bring the fields that define the request into a canonical form
// (RFC 8785) and hash that.
package hashesrawbytes

import (
	"crypto/sha256"
	"encoding/hex"

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

// Prepare hashes the body as it came.
func Prepare(payload []byte, _ []string) (idempotency.Fingerprint, error) {
	sum := sha256.Sum256(payload)
	return idempotency.FingerprintFields(map[string]any{"body": hex.EncodeToString(sum[:])})
}
