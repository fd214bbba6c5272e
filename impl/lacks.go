package impl

import (
	"slices"

	"github.com/idemrace/idemrace/check"
)

// lacks lists invariants under one stress, all with one need.
func lacks(stress check.Stress, unless check.Need, invariants ...string) []check.Lack {
	var list []check.Lack
	for _, id := range invariants {
		list = append(list, check.Lack{Invariant: id, Stress: stress, Unless: unless})
	}
	return list
}

// sometimes marks what a stress alone does not show: the member's fault keeps it
// elsewhere.
func sometimes(all []check.Lack, stress check.Stress, invariants ...string) []check.Lack {
	marked := slices.Clone(all)
	for i, l := range marked {
		if l.Stress == stress && slices.Contains(invariants, l.Invariant) {
			marked[i].Sometimes = true
		}
	}
	return marked
}

// atTimes lists what a stress alone does not show, and no need mends.
func atTimes(stress check.Stress, invariants ...string) []check.Lack {
	return sometimes(lacks(stress, check.NeedsNothing, invariants...), stress, invariants...)
}

// twice is what a second execution of one request violates when nobody reports
// the second charge.
func twice() []string {
	return []string{"effect/at-most-once", "effect/silent-duplicate", "effect/no-overlap", "effect/accounted"}
}

// unrecorded is what a second execution violates after both have been answered
// with their own: nothing is silent, and nothing agrees.
func unrecorded() []string {
	return []string{"effect/at-most-once", "answer/replay-equal", "answer/one-fresh"}
}

// cacheLacks: whatever lets a second request in before the first has stored its
// result makes a second effect. A provider that honours keys does not help: no
// key is handed on.
func cacheLacks() []check.Lack {
	return slices.Concat(
		// A hang-up beside a double charge is not safe either. Of two payloads in
		// flight under one key both run, and one is refused after it has charged.
		lacks(check.Overlap, check.NeedsNothing, append(twice(), "client/abort-safe", "reuse/refused", "effect/failure-unbacked")...),
		lacks(check.LeaseOverrun, check.NeedsNothing, append(twice(), "reuse/refused", "effect/failure-unbacked")...),
		// The dead owner's client knows that its outcome is unknown: nothing is silent.
		lacks(check.OwnerDies, check.NeedsNothing, "effect/at-most-once", "effect/no-overlap"),
		// Failing open is running unprotected; what could not be written is not there.
		lacks(check.StoreDown, check.NeedsFailClosed, unrecorded()...),
		lacks(check.CompletionLost, check.NeedsNothing, unrecorded()...),
		lacks(check.DownPastLease, check.NeedsNothing, unrecorded()...),
		// The action ends with the client, between the charge and the record.
		lacks(check.ClientLeaves, check.NeedsNothing, "effect/at-most-once", "effect/silent-duplicate", "effect/no-overlap", "client/abort-safe"),
		// An unknown outcome leaves nothing behind, and the retry charges again.
		lacks(check.UnknownFreed, check.NeedsNothing, "effect/at-most-once", "effect/unknown-stays-unknown", "reuse/refused"),
		lacks(check.ProviderUnknown, check.NeedsNothing, "effect/at-most-once", "effect/silent-duplicate", "effect/unknown-stays-unknown"),
		lacks(check.ChargeHidden, check.NeedsNothing, "effect/accounted"),
	)
}

// reservationLacks is what every reservation without help of the provider has to
// lack. No coordinator keeps at-most-once and recovers from a crash in mid-call
// too, unless the provider honours the key that it is handed.
func reservationLacks() []check.Lack {
	return slices.Concat(
		// The overtaken owner has charged. It says so: the effect is reported orphan.
		lacks(check.LeaseOverrun, check.NeedsProviderKey, "effect/at-most-once"),
		// The dead owner has charged. Its client knows that the outcome is unknown.
		lacks(check.OwnerDies, check.NeedsProviderKey, "effect/at-most-once"),
		// Failing open is running unprotected.
		lacks(check.StoreDown, check.NeedsFailClosed, unrecorded()...),
		// The result could not be written before the lease had ended. With a provider
		// that honours keys the second answer equals the first, though both are fresh.
		lacks(check.DownPastLease, check.NeedsProviderKey, "effect/at-most-once", "answer/replay-equal"),
		lacks(check.DownPastLease, check.NeedsNothing, "answer/one-fresh"),
		// After the lease a new attempt may take over, and charges again.
		lacks(check.ProviderUnknown, check.NeedsProviderKey, "effect/at-most-once", "effect/silent-duplicate", "effect/unknown-stays-unknown"),
		// Errors free the key (the article's rule), and this one hides a charge.
		lacks(check.ChargeHidden, check.NeedsNothing, "effect/accounted"),
	)
}

// fencedLacks is what is left when everything on this side of the wire is done.
// It has no lack that a provider's help would mend: without that help it gives up
// recovery, and its stable "outcome unknown" is an honest answer.
func fencedLacks() []check.Lack {
	return slices.Concat(
		// Failing open, if somebody asks for it, is running unprotected.
		lacks(check.StoreDown, check.NeedsFailClosed, unrecorded()...),
		// A store that comes back without a claim or a result that it had confirmed.
		lacks(check.StoreDown, check.NeedsDurableStore, "effect/at-most-once"),
		// The result could not be written before the lease had ended, and the successor
		// asks the provider: one charge, one answer, and neither is known for a replay.
		lacks(check.DownPastLease, check.NeedsNoKeys, "answer/one-fresh"),
	)
}
