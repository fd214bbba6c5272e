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
		// The provider's key comes from the request's names, which are the same.
		lacks(check.LeaseOverrun, check.NeedsNothing, "reuse/refused", "answer/one-fresh", "provider/key-distinct"))
}

// again is what a second execution violates whose answer is its own, and more. A
// provider that honours keys makes one charge of the two, and so one answer, but
// both are told as fresh.
func again(stress check.Stress, more ...string) []check.Lack {
	return slices.Concat(
		lacks(stress, check.NeedsProviderKey, append(more, "effect/at-most-once", "answer/replay-equal")...),
		lacks(stress, check.NeedsNothing, "answer/one-fresh"))
}

// retried is what a retry violates that charges though an outcome was unknown.
func retried(stress check.Stress) []check.Lack {
	return lacks(stress, check.NeedsProviderKey, "effect/at-most-once", "effect/unknown-stays-unknown")
}

// without drops what a member's fault happens to keep.
func without(all []check.Lack, stress check.Stress, invariants ...string) []check.Lack {
	return slices.DeleteFunc(all, func(l check.Lack) bool {
		return l.Stress == stress && slices.Contains(invariants, l.Invariant)
	})
}

// claimZoo claim badly.
func claimZoo() []Entry {
	immortal := lacks(check.OwnerDies, check.NeedsNothing, "claim/mortal", "claim/recovers")
	return []Entry{
		spoilt("claim-overwrites", "claims with a plain SET: a second claim replaces the first, and no command fails",
			reservation.FailOpen, claimoverwrites.New,
			without(plainLacks(), check.LeaseOverrun, "provider/key-distinct"), overwriting()),
		spoilt("set-then-expire", "claims with one command and sets the expiry with another: death between them blocks the key for ever",
			reservation.FailOpen, setthenexpire.New, plainLacks(),
			lacks(check.ClaimTorn, check.NeedsNothing, "claim/mortal", "claim/recovers")),
		spoilt("claim-for-retention", "a claim lives as long as a result: a dead worker's key is blocked for a day",
			reservation.FailOpen, claimforretention.New, outlasting(), immortal, always("claim/mortal")),
		spoilt("seconds-for-milliseconds", "sends the lease's milliseconds as seconds: a claim lives a thousand times too long",
			reservation.FailOpen, secondsformilliseconds.New, outlasting(), immortal, always("claim/mortal")),
		spoilt("stale-takeover", "reads a claim that has ended, and replaces whatever stands there by then",
			reservation.FailOpen, staletakeover.New, plainLacks(), again(check.LeaseOverrun, "answer/loser"),
			lacks(check.LeaseOverrun, check.NeedsNothing, "record/final-is-final")),
		spoilt("own-claim-is-a-rival", "a claim whose reply was lost is taken for another's: in progress, but nobody runs",
			reservation.FailOpen, ownclaimisarival.New, plainLacks(),
			lacks(check.ReplyLost, check.NeedsNothing, "answer/in-progress-true")),
	}
}

// outlasting: a claim that lives too long ends by command and not by the clock, so
// that where a lease runs out in real time nobody takes over.
func outlasting() []check.Lack {
	return sometimes(sometimes(plainLacks(), check.LeaseOverrun, "effect/at-most-once"), check.ProviderUnknown, "effect/at-most-once")
}

// overwriting: a claim keeps nobody out, its owner is nobody's, and no key is handed
// on, so that a provider's help does not reach it.
func overwriting() []check.Lack {
	twice := []string{"effect/at-most-once", "effect/no-overlap", "answer/replay-equal", "answer/one-fresh", "answer/loser", "claim/fenced", "record/final-is-final"}
	return slices.Concat(
		lacks(check.Overlap, check.NeedsNothing, twice...),
		lacks(check.Overlap, check.NeedsNothing, "reuse/refused", "client/abort-safe"),
		lacks(check.WaiterLeaves, check.NeedsNothing, "client/abort-safe"),
		lacks(check.LeaseOverrun, check.NeedsNothing, twice...),
		lacks(check.OwnerDies, check.NeedsNothing, "effect/at-most-once", "effect/no-overlap"),
		lacks(check.CompletionLost, check.NeedsNothing, "effect/at-most-once", "answer/replay-equal", "answer/one-fresh"),
		lacks(check.DownPastLease, check.NeedsNothing, "effect/at-most-once", "answer/replay-equal"),
		lacks(check.UnknownFreed, check.NeedsNothing, "effect/at-most-once", "effect/unknown-stays-unknown", "reuse/refused"),
		lacks(check.ProviderUnknown, check.NeedsNothing, "effect/at-most-once", "effect/no-overlap", "effect/silent-duplicate", "effect/unknown-stays-unknown"),
	)
}

// resultZoo keep a result badly, or give it back badly.
func resultZoo() []Entry {
	return []Entry{
		spoilt("errors-are-cached", "a failure is kept as a result is: every retry is told of it, and none tries again",
			reservation.FailOpen, errorsarecached.New,
			// The hidden charge stays the only one; an outcome known to be unknown is not kept.
			sometimes(without(plainLacks(), check.ProviderUnknown, "effect/silent-duplicate"), check.ProviderUnknown, "effect/at-most-once"),
			lacks(check.ProviderError, check.NeedsNothing, "error/not-pinned"),
			// A decline that comes late is kept, and told, as any other.
			atTimes(check.ProviderError, "effect/failure-unbacked")),
		spoilt("empty-replay", "the replay says that all went well, and is empty",
			reservation.FailOpen, emptyreplay.New, plainLacks(), always("answer/replay-equal", "effect/success-backed"),
			lacks(check.Replay, check.NeedsNothing, "answer/replay-equal", "effect/success-backed"),
			lacks(check.ClientLeaves, check.NeedsNothing, "client/abort-safe"),
			lacks(check.LeaseOverrun, check.NeedsNothing, "answer/loser"),
			lacks(check.TwoWorkers, check.NeedsNothing, "answer/loser"),
			atTimes(check.ProviderError, "answer/loser")),
		spoilt("replay-is-conflict", "a finished key is answered with: in progress",
			reservation.FailOpen, replayisconflict.New, plainLacks(), conflicting()),
		spoilt("forgets-early", "a result lives only as long as a lease",
			reservation.FailOpen, forgetsearly.New, plainLacks(), always("record/retained"),
			lacks(check.Replay, check.NeedsNothing, "record/retained")),
		spoilt("oversize-runs-again", "a result over the limit is not kept, and the key is free again",
			reservation.FailOpen, oversizerunsagain.New, plainLacks(), again(check.Oversize),
			lacks(check.Oversize, check.NeedsNothing, "record/retained")),
	}
}

// conflicting: wherever a result is asked for again, whatever else goes on. Always
// would say too much: where nothing is finished, the answer is right.
func conflicting() []check.Lack {
	var all []check.Lack
	for _, stress := range []check.Stress{check.Replay, check.Overlap, check.TwoWorkers, check.PayloadVaries, check.NamesVary, check.StoreBlip, check.Oversize} {
		all = append(all, lacks(stress, check.NeedsNothing, "claim/recovers", "answer/loser", "answer/in-progress-true")...)
	}
	return all
}

// workerZoo are safe as long as there is one worker.
func workerZoo() []Entry {
	return []Entry{
		// A lock in memory has no lease: it ends with its holder, or not at all.
		spoilt("per-process-lock", "the lock is in one worker's memory, only results are shared: two workers both run",
			reservation.FailOpen, perprocesslock.New,
			without(plainLacks(), check.LeaseOverrun, "effect/at-most-once", "reuse/refused", "answer/one-fresh", "provider/key-distinct"),
			// Results are shared: who comes later finds them.
			sometimes(again(check.TwoWorkers, "answer/loser"), check.TwoWorkers, "effect/at-most-once", "answer/one-fresh"),
			lacks(check.TwoWorkers, check.NeedsNothing, "record/final-is-final"),
			again(check.CompletionLost), retried(check.UnknownFreed), lacks(check.UnknownFreed, check.NeedsNothing, "reuse/refused", "provider/key-distinct")),
		spoilt("per-process-store", "each worker has a store of its own: to the other one a retry is a new request",
			reservation.FailOpen, perprocessstore.New, plainLacks(),
			again(check.TwoWorkers, "answer/loser"), lacks(check.TwoWorkers, check.NeedsNothing, "record/retained"), retried(check.UnknownFreed)),
	}
}

// outageZoo are declared to fail closed, and run while the store is down.
func outageZoo() []Entry {
	defiant := lacks(check.StoreDown, check.NeedsNothing, "store/outage-policy")
	return []Entry{
		spoilt("falls-back-to-memory", "while the store is down it keeps its records in its own memory, and says so to nobody",
			reservation.FailClosed, fallsbacktomemory.New, sometimes(plainLacks(), check.StoreDown, "effect/at-most-once"), defiant,
			// Its own memory keeps a retry out, until the store is back.
			sometimes(again(check.StoreDown), check.StoreDown, "effect/at-most-once")),
		spoilt("swallows-outage", "the store's error is swallowed: it runs as if the key had been claimed",
			reservation.FailClosed, swallowsoutage.New, plainLacks(), defiant, again(check.StoreDown)),
	}
}

// always lists invariants that no stress is needed to violate: it shows wherever it
// is looked at.
func always(invariants ...string) []check.Lack {
	return lacks(check.Always, check.NeedsNothing, invariants...)
}
