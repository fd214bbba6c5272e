// Package wait coordinates by reservation, and lets duplicates wait.
//
// The flow, for whoever comes with a key:
//
//  1. Claim it, in one atomic step: a pending marker with a lease.
//  2. Claimed: run the action, store its result over the marker, return it.
//  3. Not claimed, because the payload differs: refuse the reuse.
//  4. Not claimed, because it is done: replay the result.
//  5. Not claimed, because it runs: wait for its result. The store tells; nobody
//     polls. If the holder fails, all who waited share its failure; if its lease
//     ends first, one of them takes over.
//
// An action that fails frees the key, for a failure that is kept would turn a
// passing fault into a payment that cannot be made. With the store down the
// action runs unprotected: availability over exactly-once, on purpose; who
// charges cards may choose reservation.FailClosed. The provider key in the
// action's context is the second layer, for when this one cannot hold: a worker
// that dies, a lease that is overrun, a store that is down.
//
// The lease must outlast the slowest honest attempt. No lease is renewed here.
package wait

import (
	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator. Unless cfg says otherwise it fails open, and errors
// release the key.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*reservation.Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	return reservation.New(s, clk, reservation.DuplicatesWait, cfg)
}
