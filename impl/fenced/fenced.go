// Package fenced is the recommended coordinator: a reservation that renews its
// lease, stops in time, and asks instead of guessing.
//
// It is wait with the careful choice in every place where wait takes the handy
// one:
//
//   - The lease is renewed while the action runs, for [DefaultMaxRun] at most. A
//     slow bank does not overrun it; only a process that was frozen, or a store
//     that was away, can. Then the action's context ends, and the outcome is
//     unknown, and reported.
//   - Who has lost its claim changes nothing any more: each settlement bears the
//     owner's token, and the store's fence has moved on.
//   - With the store down nothing runs (reservation.FailClosed).
//   - An error that does not say "no effect" says nothing: the outcome is unknown
//     (reservation.MarkUnknown), duplicates are told "in progress", and the next
//     attempt after the lease finds out.
//   - Finding out is asking the provider: the action runs again with the very
//     provider key of the first try ([idempotency.ProviderKey]). A provider that
//     honours keys answers with what came of that try, or that it still runs;
//     then the outcome stays unknown for another lease.
//
// # What it asks of the action
//
// It must hand the provider key on. And it may wrap ErrNoEffect only around the
// provider's own word, a decline for instance: that word stands for all calls
// with the key. "I could not connect" speaks of one call only; when an earlier
// one had charged, to call that "no effect" would free the key for a second
// charge. Any other error is safe.
//
// # What no coordinator can keep
//
// A worker dies after it has sent the charge and before it has written the
// answer. No coordinator can then both charge at most once and recover, without
// the provider's help: to run again may charge twice, not to run may leave the
// order unpaid, and nothing on this side of the wire tells which. If the
// provider honours keys ([Config].ProviderHonoursKeys) both promises are kept. If
// it does not, fenced keeps the first and gives up the second: whoever takes such
// a claim over runs nothing, and every attempt is told ErrUnknownOutcome until a
// person or a reconciliation says what happened (Coordinator.Resolve). That is
// the zero value, since the other error costs the customer's money.
//
// A store that loses acknowledged writes (a failover of asynchronous replicas, a
// restart without a log) loses claims and results, and with them this
// protection: then only the provider's keys are left, and without them the next
// attempt charges again. Nothing here can see that it happened.
package fenced

import (
	"cmp"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// DefaultMaxRun is how long the lease of one execution is renewed: ten leases of
// the default length. Longer than any honest provider call with its retries, and
// short enough that one which hangs for ever does not hold its key for ever.
const DefaultMaxRun = 5 * time.Minute

// Config is that of a reservation, and what the reservation cannot know. Its zero
// value is the safe side.
type Config struct {
	reservation.Config
	// ProviderHonoursKeys: the provider answers a second call with one key by the
	// outcome of the first, for at least the retention. Say so only if it does:
	// takeovers rely on it, and all workers on one store must say the same.
	ProviderHonoursKeys bool
	// Duplicates wait for the first one's result unless this says otherwise.
	Duplicates reservation.Duplicates
}

// New makes the coordinator. Unless cfg says otherwise it fails closed, marks
// failures unknown, and renews for DefaultMaxRun. Its Takeover follows from
// ProviderHonoursKeys, whatever cfg says.
func New(s store.Store, clk clock.Clock, cfg Config) (*reservation.Coordinator, error) {
	core := cfg.WithPolicies(reservation.FailClosed, reservation.MarkUnknown)
	core.MaxRun = cmp.Or(core.MaxRun, DefaultMaxRun)
	core.Takeover = reservation.TakeoverRefuses
	if cfg.ProviderHonoursKeys {
		core.Takeover = reservation.TakeoverRuns
	}
	return reservation.New(s, clk, cmp.Or(cfg.Duplicates, reservation.DuplicatesWait), core)
}
