package impl

import (
	"slices"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/impl/zoo/completewithouttoken"
	"github.com/idemrace/idemrace/impl/zoo/dieswithclient"
	"github.com/idemrace/idemrace/impl/zoo/freestheunknown"
	"github.com/idemrace/idemrace/impl/zoo/hasheseverything"
	"github.com/idemrace/idemrace/impl/zoo/hashesrawbytes"
	"github.com/idemrace/idemrace/impl/zoo/inflightbeforemismatch"
	"github.com/idemrace/idemrace/impl/zoo/joinsnames"
	"github.com/idemrace/idemrace/impl/zoo/longkeysrunfree"
	"github.com/idemrace/idemrace/impl/zoo/nofingerprint"
	"github.com/idemrace/idemrace/impl/zoo/releaseonlostcommit"
	"github.com/idemrace/idemrace/impl/zoo/releasewithouttoken"
	"github.com/idemrace/idemrace/impl/zoo/renewsanybody"
	"github.com/idemrace/idemrace/impl/zoo/thunderingwaiters"
	"github.com/idemrace/idemrace/impl/zoo/truncateskeys"
	"github.com/idemrace/idemrace/impl/zoo/unscoped"
	"github.com/idemrace/idemrace/impl/zoo/waiterrunsanyway"
)

// storeZoo are the zoo's members on the atomic port: each is wait or raise with
// one part replaced, so it lacks what those lack (reservationLacks), and what its
// fault adds.
func storeZoo() []Entry {
	return slices.Concat(ownerZoo(), unknownZoo(), payloadZoo(), nameZoo(), waiterZoo())
}

// wounded is an entry of the zoo. Its needs are those of reservationLacks, and
// more.
func wounded(e Entry, more ...[]check.Lack) Entry {
	e.Groups, e.Policy = []string{Zoo}, reservation.FailOpen
	e.Lacks = reservationLacks()
	for _, l := range slices.Concat(more...) {
		if !slices.Contains(e.Lacks, l) {
			e.Lacks = append(e.Lacks, l)
		}
	}
	return e
}

// inPart marks one lack of an entry as one that shows sometimes.
func inPart(stress check.Stress, invariant string, e Entry) Entry {
	e.Lacks = sometimes(e.Lacks, stress, invariant)
	return e
}

// ownerZoo do not ask whose claim it is.
func ownerZoo() []Entry {
	return []Entry{
		wounded(Entry{
			Name: "release-without-token", Doc: "raise, but a late failure deletes whatever claim stands under the key",
			New: func(e Env) (idempotency.Coordinator, error) {
				return releasewithouttoken.New(e.Store, e.KV, e.Clock, e.Config)
			},
		}, lacks(check.ProviderError, check.NeedsNothing, "claim/fenced", "effect/at-most-once", "effect/no-overlap"),
			atTimes(check.ProviderError, "effect/failure-unbacked", "record/final-is-final"),
			withoutProviderKey()),
		wounded(Entry{
			Name: "complete-without-token", Doc: "raise, but a late owner's result replaces the new owner's claim or result",
			New: func(e Env) (idempotency.Coordinator, error) {
				return completewithouttoken.New(e.Store, e.KV, e.Clock, e.Config)
			},
		}, lacks(check.LeaseOverrun, check.NeedsNothing, "claim/fenced", "record/final-is-final", "answer/one-fresh"),
			// One charge is one answer, whoever writes it.
			lacks(check.LeaseOverrun, check.NeedsProviderKey, "answer/replay-equal", "answer/loser")),
		// It outlasts a call that hangs for less than its leases.
		inPart(check.ProviderUnknown, "effect/at-most-once", wounded(Entry{
			Name: "renews-anybody", Doc: "wait with a heartbeat, but it keeps up the lease of whoever owns the claim",
			New: func(e Env) (idempotency.Coordinator, error) { return renewsanybody.New(e.Store, e.Clock, e.Config) },
		}, lacks(check.Renewed, check.NeedsNothing, "claim/fenced"))),
	}
}

// withoutProviderKey is what a reservation lacks beyond reservationLacks that
// hands no key on: the provider's help does not reach it, and two runs that meet
// are two orders.
func withoutProviderKey() []check.Lack {
	return slices.Concat(
		lacks(check.LeaseOverrun, check.NeedsNothing, "effect/at-most-once", "effect/no-overlap"),
		lacks(check.OwnerDies, check.NeedsNothing, "effect/at-most-once"),
		lacks(check.ProviderUnknown, check.NeedsNothing, "effect/at-most-once", "effect/no-overlap", "effect/silent-duplicate", "effect/unknown-stays-unknown"),
	)
}

// unknownZoo forget an effect that may have been made.
func unknownZoo() []Entry {
	return []Entry{
		wounded(Entry{
			Name: "release-on-lost-commit", Doc: "wait, but a result that could not be stored frees the key",
			New: func(e Env) (idempotency.Coordinator, error) {
				return releaseonlostcommit.New(e.Store, e.Clock, e.Config)
			},
		}, lacks(check.CompletionLost, check.NeedsProviderKey, "effect/at-most-once", "answer/replay-equal"),
			lacks(check.CompletionLost, check.NeedsNothing, "answer/one-fresh")),
		wounded(Entry{
			Name: "frees-the-unknown", Doc: "wait, but an outcome known to be unknown frees the key",
			New: func(e Env) (idempotency.Coordinator, error) { return freestheunknown.New(e.Store, e.Clock, e.Config) },
		}, lacks(check.UnknownFreed, check.NeedsProviderKey, "effect/at-most-once", "effect/unknown-stays-unknown")),
		wounded(Entry{
			Name: "dies-with-client", Doc: "raise, but action and completion end when the client hangs up",
			New: func(e Env) (idempotency.Coordinator, error) { return dieswithclient.New(e.Store, e.Clock, e.Config) },
		}, lacks(check.ClientLeaves, check.NeedsProviderKey, "client/abort-safe", "effect/at-most-once", "effect/silent-duplicate", "effect/unknown-stays-unknown")),
	}
}

// payloadZoo do not know what a request is.
func payloadZoo() []Entry {
	return []Entry{
		wounded(Entry{
			Name: "no-fingerprint", Doc: "wait, but another payload is answered with the first one's result",
			New:     func(e Env) (idempotency.Coordinator, error) { return nofingerprint.New(e.Store, e.Clock, e.Config) },
			Prepare: nofingerprint.Prepare,
		}, lacks(check.PayloadVaries, check.NeedsNothing, "reuse/refused", "effect/success-backed", "provider/key-distinct")),
		// What it hashes is canonical: only members' values count.
		inPart(check.PayloadVaries, "reuse/canonical", wounded(Entry{
			Name: "hashes-everything", Doc: "wait, but a retry with a new trace id is refused as another request",
			New:     func(e Env) (idempotency.Coordinator, error) { return hasheseverything.New(e.Store, e.Clock, e.Config) },
			Prepare: hasheseverything.Prepare,
		}, lacks(check.PayloadVaries, check.NeedsNothing, "reuse/canonical", "answer/loser", "effect/failure-unbacked"))),
		wounded(Entry{
			Name: "hashes-raw-bytes", Doc: "wait, but a retry with its members in another order is refused as another request",
			New:     func(e Env) (idempotency.Coordinator, error) { return hashesrawbytes.New(e.Store, e.Clock, e.Config) },
			Prepare: hashesrawbytes.Prepare,
		}, lacks(check.PayloadVaries, check.NeedsNothing, "reuse/canonical", "answer/loser", "effect/failure-unbacked"),
			lacks(check.MembersMove, check.NeedsNothing, "reuse/canonical", "effect/failure-unbacked")),
		// In a race nobody can tell whether the claim was there to be met.
		inPart(check.PayloadVaries, "reuse/refused", wounded(Entry{
			Name: "in-flight-before-mismatch", Doc: "wait, but another payload that meets a claim is told to try later",
			New: func(e Env) (idempotency.Coordinator, error) {
				return inflightbeforemismatch.New(e.Store, e.Clock, e.Config)
			},
		}, lacks(check.PayloadVaries, check.NeedsNothing, "reuse/refused"))),
	}
}

// nameZoo keep several keys under one name, or one under none.
func nameZoo() []Entry {
	return []Entry{
		// Its names do not meet when they are joined, for they are not.
		inPart(check.NamesVary, "scope/isolated", wounded(Entry{
			Name: "unscoped", Doc: "wait, but the operation is no part of the stored name",
			New: func(e Env) (idempotency.Coordinator, error) { return unscoped.New(e.Store, e.Clock, e.Config) },
		}, lacks(check.NamesVary, check.NeedsNothing, "scope/isolated", "answer/no-foreign", "effect/success-backed"))),
		wounded(Entry{
			Name: "joins-names", Doc: "wait, but the stored name is operation, colon, key",
			New: func(e Env) (idempotency.Coordinator, error) { return joinsnames.New(e.Store, e.Clock, e.Config) },
		}, lacks(check.NamesJoin, check.NeedsNothing, "scope/isolated", "answer/no-foreign", "effect/success-backed")),
		wounded(Entry{
			Name: "long-keys-run-free", Doc: "wait, but a key over 255 characters runs as if there were none",
			New: func(e Env) (idempotency.Coordinator, error) { return longkeysrunfree.New(e.Store, e.Clock, e.Config) },
		}, lacks(check.KeyOverlong, check.NeedsNothing, "key/hygiene", "effect/at-most-once", "answer/one-fresh", "answer/replay-equal", "record/retained")),
		// One long key, sent twice, is still one key.
		inPart(check.NamesVary, "key/hygiene", wounded(Entry{
			Name: "truncates-keys", Doc: "wait, but a key is cut after 64 characters",
			New: func(e Env) (idempotency.Coordinator, error) { return truncateskeys.New(e.Store, e.Clock, e.Config) },
		}, lacks(check.NamesVary, check.NeedsNothing, "key/hygiene", "effect/success-backed"))),
	}
}

// waiterZoo do not leave the effect to the owner.
func waiterZoo() []Entry {
	return []Entry{
		wounded(Entry{
			Name: "waiter-runs-anyway", Doc: "wait, but a waiter runs the action when its patience ends",
			New: func(e Env) (idempotency.Coordinator, error) { return waiterrunsanyway.New(e.Store, e.Clock, e.Config) },
		}, lacks(check.PatienceEnds, check.NeedsProviderKey, "effect/at-most-once", "answer/replay-equal", "answer/loser", "client/abort-safe"),
			lacks(check.PatienceEnds, check.NeedsNothing, "answer/one-fresh")),
		wounded(Entry{
			Name: "thundering-waiters", Doc: "wait, but when the owner fails its waiters run in turn",
			New: func(e Env) (idempotency.Coordinator, error) { return thunderingwaiters.New(e.Store, e.Clock, e.Config) },
		}, lacks(check.OwnerFails, check.NeedsProviderKey, "effect/at-most-once", "effect/silent-duplicate", "effect/unknown-stays-unknown")),
	}
}
