// Package hasheseverything waits as wait does, and takes the whole payload for
// what defines the request.
//
// What is wrong: a retry brings a time stamp and a trace id of its own. With
// those in the fingerprint it is another request, and is refused as a reuse of
// the key: the customer who has paid never hears so.
//
// Seen in stripe-java 389 and powertools-python 638.
//
// Right: name the fields that define the request, per operation, and hash those.
package hasheseverything

import (
	"bytes"
	"encoding/json"
	"fmt"

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

// Prepare hashes all members of the payload, named or not. It refuses what is no
// JSON object, with ErrInvalidFingerprint.
func Prepare(payload []byte, _ []string) (idempotency.Fingerprint, error) {
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var everything map[string]any
	if err := d.Decode(&everything); err != nil {
		return idempotency.Fingerprint{}, fmt.Errorf("%w: %v", idempotency.ErrInvalidFingerprint, err)
	}
	return idempotency.FingerprintFields(everything)
}
