// Package raise coordinates by reservation, and refuses duplicates at once.
//
// It is wait without the waiting. Whoever finds the key claimed by a request
// that still runs gets idempotency.ErrInProgress, with the time that the claim
// has left; over HTTP that is 409 Conflict with Retry-After. The client comes
// back and finds the result.
//
// Which of the two? Waiting holds a connection open and spares the client the
// second try; raising costs the server nothing and needs a client that retries.
// All else is the same: one atomic claim before the effect, mismatch before
// everything, replay when done, errors free the key, unprotected when the store
// is down.
package raise

import (
	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator. Unless cfg says otherwise it fails open, and errors
// release the key.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*reservation.Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	return reservation.New(s, clk, reservation.DuplicatesRaise, cfg)
}
