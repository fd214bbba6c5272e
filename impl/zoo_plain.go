package impl

import (
	"slices"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/impl/zoo/claimforretention"
	"github.com/idemrace/idemrace/impl/zoo/claimoverwrites"
	"github.com/idemrace/idemrace/impl/zoo/emptyreplay"
	"github.com/idemrace/idemrace/impl/zoo/errorsarecached"
	"github.com/idemrace/idemrace/impl/zoo/fallsbacktomemory"
	"github.com/idemrace/idemrace/impl/zoo/forgetsearly"
	"github.com/idemrace/idemrace/impl/zoo/oversizerunsagain"
	"github.com/idemrace/idemrace/impl/zoo/ownclaimisarival"
	"github.com/idemrace/idemrace/impl/zoo/perprocesslock"
	"github.com/idemrace/idemrace/impl/zoo/perprocessstore"
	"github.com/idemrace/idemrace/impl/zoo/replayisconflict"
	"github.com/idemrace/idemrace/impl/zoo/secondsformilliseconds"
	"github.com/idemrace/idemrace/impl/zoo/setthenexpire"
	"github.com/idemrace/idemrace/impl/zoo/staletakeover"
	"github.com/idemrace/idemrace/impl/zoo/swallowsoutage"
	"github.com/idemrace/idemrace/store"
)

// plainZoo are the zoo's members on plain commands: each is impl/plain with one
// part replaced, so it lacks what that lacks (plainLacks), and what its fault adds.
// One more row of the field's faults, check-then-act, is the coordinator cache.
func plainZoo() []Entry {
	return slices.Concat(claimZoo(), resultZoo(), workerZoo(), outageZoo())
}

// spoilt is a member of the zoo, declared to fail open or closed.
func spoilt(name, doc string, declared reservation.Policy, make maker, lacks ...[]check.Lack) Entry {
	return Entry{Name: name, Doc: doc, Groups: []string{Zoo}, Policy: declared, Lacks: unique(slices.Concat(lacks...)), New: onPlain(declared, make)}
}

// maker is a member's constructor.
type maker func(store.KV, clock.Clock, plain.Config) (*plain.Coordinator, error)

// onPlain hands on what a reservation made of plain commands heeds. There is nobody
// to wait for, nowhere else to keep a result, and errors free the key.
func onPlain(declared reservation.Policy, make maker) func(Env) (idempotency.Coordinator, error) {
	return func(e Env) (idempotency.Coordinator, error) {
		c, err := e.Config.WithPolicies(declared, reservation.Release).WithDefaults()
		if err != nil {
			return nil, err
		}
		return make(e.KV, e.Clock, plain.Config{
			Lease: c.Lease, Retention: c.Retention, CompleteFor: c.CompleteFor, MaxResult: c.MaxResult,
			FailClosed: c.StoreDown == reservation.FailClosed,
			OnOrphan:   c.OnOrphan, Logger: c.Logger, NewToken: c.NewToken,
		})
	}
}

// unique drops repetitions.
func unique(all []check.Lack) []check.Lack {
	var once []check.Lack
	for _, l := range all {
		if !slices.Contains(once, l) {
			once = append(once, l)
		}
	}
	return once
}

// plainLacks is what every reservation made of plain commands lacks: what any
// reservation does, and the fingerprint once the claim has ended. That a worker
// which is stopped between looking and writing overwrites another's record is not
// listed: no scenario can stop it just there. impl/plain's own test does.
func plainLacks() []check.Lack {
	return slices.Concat(reservationLacks(),
		lacks(check.LeaseOverrun, check.NeedsNothing, "reuse/refused"))
}

// claimZoo claim badly.
func claimZoo() []Entry {
	immortal := lacks(check.OwnerDies, check.NeedsNothing, "claim/mortal", "claim/recovers")
	return []Entry{
		spoilt("claim-overwrites", "claims with a plain SET: a second claim replaces the first, and no command fails",
			reservation.FailOpen, claimoverwrites.New, plainLacks(),
			lacks(check.Overlap, check.NeedsNothing, "effect/at-most-once", "effect/no-overlap", "answer/replay-equal")),
		spoilt("set-then-expire", "claims with one command and sets the expiry with another: death between them blocks the key for ever",
			reservation.FailOpen, setthenexpire.New, plainLacks(), immortal),
		spoilt("claim-for-retention", "a claim lives as long as a result: a dead worker's key is blocked for a day",
			reservation.FailOpen, claimforretention.New, plainLacks(), immortal),
		spoilt("seconds-for-milliseconds", "sends the lease's milliseconds as seconds: a claim lives a thousand times too long",
			reservation.FailOpen, secondsformilliseconds.New, plainLacks(), immortal),
		spoilt("stale-takeover", "reads a claim that has ended, and replaces whatever stands there by then",
			reservation.FailOpen, staletakeover.New, plainLacks(),
			lacks(check.LeaseOverrun, check.NeedsNothing, "record/final-is-final", "effect/at-most-once")),
		spoilt("own-claim-is-a-rival", "a claim whose reply was lost is taken for another's: in progress, but nobody runs",
			reservation.FailOpen, ownclaimisarival.New, plainLacks(),
			lacks(check.ReplyLost, check.NeedsNothing, "answer/in-progress-true")),
	}
}

// resultZoo keep a result badly, or give it back badly.
func resultZoo() []Entry {
	return []Entry{
		spoilt("errors-are-cached", "a failure is kept as a result is: every retry is told of it, and none tries again",
			reservation.FailOpen, errorsarecached.New, plainLacks(),
			lacks(check.ProviderError, check.NeedsNothing, "error/not-pinned")),
		spoilt("empty-replay", "the replay says that all went well, and is empty",
			reservation.FailOpen, emptyreplay.New, plainLacks(),
			lacks(check.Replay, check.NeedsNothing, "answer/replay-equal")),
		spoilt("replay-is-conflict", "a finished key is answered with: in progress",
			reservation.FailOpen, replayisconflict.New, plainLacks(),
			lacks(check.Replay, check.NeedsNothing, "claim/recovers", "answer/loser")),
		spoilt("forgets-early", "a result lives only as long as a lease",
			reservation.FailOpen, forgetsearly.New, plainLacks(),
			lacks(check.Replay, check.NeedsNothing, "record/retained")),
		spoilt("oversize-runs-again", "a result over the limit is not kept, and the key is free again",
			reservation.FailOpen, oversizerunsagain.New, plainLacks(),
			lacks(check.Replay, check.NeedsNothing, "effect/at-most-once")),
	}
}

// workerZoo are safe as long as there is one worker.
func workerZoo() []Entry {
	return []Entry{
		spoilt("per-process-lock", "the lock is in one worker's memory, only results are shared: two workers both run",
			reservation.FailOpen, perprocesslock.New, plainLacks(),
			lacks(check.TwoWorkers, check.NeedsNothing, "effect/at-most-once")),
		spoilt("per-process-store", "each worker has a store of its own: to the other one a retry is a new request",
			reservation.FailOpen, perprocessstore.New, plainLacks(),
			lacks(check.TwoWorkers, check.NeedsNothing, "effect/at-most-once", "answer/one-fresh")),
	}
}

// outageZoo are declared to fail closed, and run while the store is down.
func outageZoo() []Entry {
	return []Entry{
		spoilt("falls-back-to-memory", "while the store is down it keeps its records in its own memory, and says so to nobody",
			reservation.FailClosed, fallsbacktomemory.New, plainLacks(),
			lacks(check.StoreDown, check.NeedsNothing, "store/outage-policy", "effect/at-most-once")),
		spoilt("swallows-outage", "the store's error is swallowed: it runs as if the key had been claimed",
			reservation.FailClosed, swallowsoutage.New, plainLacks(),
			lacks(check.StoreDown, check.NeedsNothing, "store/outage-policy", "effect/at-most-once")),
	}
}
