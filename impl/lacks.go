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

// cacheLacks: whatever lets a second request in before the first has stored its
// result makes a second effect. A provider that honours keys does not help: no
// key is handed on.
func cacheLacks() []check.Lack {
	twice := []string{"effect/at-most-once", "effect/silent-duplicate", "effect/no-overlap", "effect/accounted"}
	return slices.Concat(
		lacks(check.Overlap, check.NeedsNothing, twice...),
		// Two payloads in flight under one key: both run, one is refused afterwards.
		lacks(check.Overlap, check.NeedsNothing, "reuse/refused"),
		lacks(check.TwoWorkers, check.NeedsNothing, twice...),
		lacks(check.LeaseOverrun, check.NeedsNothing, twice...),
		lacks(check.OwnerDies, check.NeedsNothing, twice...),
		// Failing open is running unprotected. The answers differ, so all is accounted for.
		lacks(check.StoreDown, check.NeedsFailClosed, "effect/at-most-once"),
		// The action ends with the client, between the charge and the record.
		lacks(check.ClientLeaves, check.NeedsNothing, "effect/at-most-once", "effect/accounted", "client/abort-safe"),
		// An unknown outcome leaves nothing behind, and the retry charges again.
		lacks(check.ProviderUnknown, check.NeedsNothing, "effect/at-most-once", "effect/unknown-stays-unknown"),
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
		lacks(check.StoreDown, check.NeedsFailClosed, "effect/at-most-once"),
		// After the lease a new attempt may take over, and charges again.
		lacks(check.ProviderUnknown, check.NeedsProviderKey, "effect/at-most-once", "effect/unknown-stays-unknown"),
	)
}
