// Package check judges a history. Its invariants are pure functions: no clock,
// no I/O, linear in the history; so a saved history can be judged again for
// ever, and by somebody else.
//
// Responses never decide a verdict alone: the ledger's events do. The package
// refuses to know targets, scenarios and expectations beyond the words for them
// ([Stress], [Lack], [Exposure]).
package check

import "github.com/idemrace/idemrace/history"

// Verdict is what a judge says.
type Verdict string

// The three verdicts, from good to bad. "Not applicable" is none of them.
const (
	Held         Verdict = "held"
	Inconclusive Verdict = "inconclusive"
	Violated     Verdict = "violated"
)

// Finding is the verdict on one invariant.
type Finding struct {
	Invariant string
	Verdict   Verdict
	Because   string // one English sentence; for Violated it names clients, charges and moments
	Events    []int  // Seq of the few events that show it
}

// Invariant is a predicate over a history, with a stable id.
type Invariant struct {
	ID        string // e.g. effect/at-most-once
	Predicate string // the law, in one sentence
	Why       string // what breaks in a shop when it does not hold, for explain
	// Applies reports whether the history can show it at all (an Inspector, a
	// marker); nil means always. Not applicable is no verdict: no finding is made.
	Applies func(h *history.History) bool
	// Judge returns the evidence against it: nil if it holds.
	Judge func(h *history.History) *Violation

	onView func(v *view) *Violation // Judge, on a history that was read once for all invariants
}

// Violation is evidence.
type Violation struct {
	Because string
	Events  []int
}

// Stress is what a scenario does to a target.
type Stress string

// The stresses.
const (
	Overlap         Stress = "overlap"
	TwoWorkers      Stress = "two-workers"
	OwnerDies       Stress = "owner-dies"
	LeaseOverrun    Stress = "lease-overrun"
	StoreDown       Stress = "store-down"
	ReplyLost       Stress = "reply-lost"
	CompletionLost  Stress = "completion-lost" // the result cannot be written, everything else can
	StoreBlip       Stress = "store-blip"      // down while an owner runs, and back within its lease
	DownPastLease   Stress = "down-past-lease" // down from before the charge until after the lease
	ProviderError   Stress = "provider-error"
	ProviderUnknown Stress = "provider-unknown"
	ClientLeaves    Stress = "client-leaves"
	PayloadVaries   Stress = "payload-varies"
	NamesVary       Stress = "names-vary"
	Replay          Stress = "replay"          // a result is read, by many or again
	UnknownFreed    Stress = "unknown-retried" // an unknown outcome is asked for again within its lease
	ChargeHidden    Stress = "charge-hidden"   // the provider charges and answers with an error
	PatienceEnds    Stress = "patience-ends"   // a waiter's limit passes while the owner runs
	OwnerFails      Stress = "owner-fails"     // the owner fails while others wait for it
	MembersMove     Stress = "members-move"    // the same payload comes with its members in another order
	NamesJoin       Stress = "names-join"      // operation and key come in pairs that are one string when joined
	KeyOverlong     Stress = "key-overlong"    // a key comes that is longer than keys may be
	WaiterLeaves    Stress = "waiter-leaves"   // a duplicate's client hangs up while the first attempt runs
	Oversize        Stress = "oversize"        // a result is larger than the limit
	ClaimTorn       Stress = "claim-torn"      // the worker dies between two commands of its claim
	Renewed         Stress = "renewed"         // an overtaken owner's heartbeat goes on
	Always          Stress = "always"          // none is needed: it shows wherever it is looked at
)

// Need is a condition of the surroundings under which a coordinator keeps what
// it otherwise lacks.
type Need string

// The needs.
const (
	NeedsNothing      Need = ""              // nothing helps
	NeedsProviderKey  Need = "provider-key"  // a provider that honours the key handed on
	NeedsNoKeys       Need = "no-keys"       // a provider that ignores keys, so that nobody asks it
	NeedsDurableStore Need = "durable-store" // a store that loses no acknowledged write
	NeedsFailClosed   Need = "fail-closed"   // store policy closed
)

// Lack is something a coordinator is known not to keep: an invariant under a
// stress, unless the need is met.
type Lack struct {
	Invariant string
	Stress    Stress
	Unless    Need
	// Sometimes: the stress alone does not do it, so that a scenario which surely
	// exposes the invariant may pass. Some scenario must show it all the same.
	Sometimes bool
}

// Exposure says that a scenario can show a violation of an invariant: Surely,
// each time, if the coordinator lacks it; else possibly.
type Exposure struct {
	Invariant string
	Surely    bool
}
