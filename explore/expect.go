package explore

import (
	"slices"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// stresses are those of the catalogue that a run has met.
type stresses struct{ met uint32 }

func (s stresses) bits() uint64 { return uint64(s.met) }

// What a run can meet, as bits.
const (
	metStoreFault = 1 << iota
	metReplyLost
	metCompletionLost
	metUnknown
	metDecline
	metHidden
	metCrash
	metExpiry
	metDeadline
	metHangUp
)

// stressed notes what a choice does to the coordinator.
func (w *world) stressed(c Choice) {
	var completes bool
	if c.Actor >= 0 {
		op := w.actors[c.Actor].op
		completes = op.Kind == Settle && op.Detail == string(store.Done) || op.Kind.store() && w.actors[c.Actor].phase == committed
	}
	switch {
	case c.Act == FailBefore, c.Act == LoseReply:
		w.seen.met |= metStoreFault
		if c.Act == LoseReply {
			w.seen.met |= metReplyLost
		}
		if completes {
			w.seen.met |= metCompletionLost
		}
	case c.Act == ChargeLost, c.Act == FailCall:
		w.seen.met |= metUnknown
	case c.Act == Decline:
		w.seen.met |= metDecline
	case c.Act == HideCharge:
		w.seen.met |= metHidden
	case c.Act == Leave:
		w.seen.met |= metDeadline
	case c.Act == Crash:
		w.seen.met |= metCrash
	case c.Act == HangUp:
		w.seen.met |= metHangUp
	case w.hastens(c):
		w.seen.met |= metExpiry
	}
}

// stress lists what was met in the catalogue's words. Clients of their own workers
// that may overlap are what every exploration is.
func (s stresses) list(payloads bool) []check.Stress {
	all := []check.Stress{check.Always, check.Overlap, check.TwoWorkers, check.Replay}
	add := func(bit uint32, more ...check.Stress) {
		if s.met&bit == bit {
			all = append(all, more...)
		}
	}
	if payloads {
		all = append(all, check.PayloadVaries)
	}
	add(metStoreFault, check.StoreDown, check.StoreBlip)
	add(metReplyLost, check.ReplyLost)
	add(metCompletionLost, check.CompletionLost)
	add(metCompletionLost|metExpiry, check.DownPastLease)
	add(metUnknown, check.ProviderUnknown, check.UnknownFreed)
	add(metDeadline, check.ProviderUnknown, check.UnknownFreed, check.LeaseOverrun)
	add(metDecline, check.ProviderError, check.OwnerFails)
	add(metHidden, check.ChargeHidden, check.ProviderError, check.OwnerFails)
	add(metCrash, check.OwnerDies, check.ClaimTorn)
	add(metExpiry, check.LeaseOverrun, check.PatienceEnds, check.Renewed)
	add(metHangUp, check.ClientLeaves, check.WaiterLeaves)
	slices.Sort(all)
	return slices.Compact(all)
}

// guaranteed: the coordinator says that it keeps the invariant under what the run
// has met, so that a violation is a finding.
func (c *Config) guaranteed(invariant string, met stresses) bool {
	under := met.list(c.Payloads)
	excuse := ""
	for _, l := range c.Entry.Lacks {
		if !slices.Contains(under, l.Stress) || c.helps(l.Unless) {
			continue
		}
		if l.Invariant == invariant {
			return false
		}
		if slices.Contains(brings(l.Invariant), invariant) {
			excuse = l.Invariant
		}
	}
	if excuse != "" && c.excused != nil {
		c.excused(excuse, invariant)
	}
	return excuse == ""
}

// helps: the surroundings are such that the coordinator keeps what it otherwise lacks.
func (c *Config) helps(n check.Need) bool {
	switch n {
	case check.NeedsProviderKey:
		return c.HonoursKeys
	case check.NeedsNoKeys:
		return !c.HonoursKeys
	case check.NeedsFailClosed:
		return c.policy() == reservation.FailClosed
	case check.NeedsDurableStore:
		return true // the model loses nothing that it has acknowledged
	}
	return false
}

// brings is what who lacks an invariant cannot keep either. The catalogue lists what
// its scenarios show, each of which sends its attempts in one order. Here others come
// in every order beside the second charge, and no answer to them can be right. A test
// finds each of these pairs needed.
func brings(lacked string) []string {
	switch lacked {
	case "effect/at-most-once":
		return []string{
			"effect/silent-duplicate",      // the one answered second is told of the first one's charge
			"effect/failure-unbacked",      // one execution is declined, the other charges
			"effect/unknown-stays-unknown", // nobody knows of the first when the second charges
			"answer/replay-equal",          // each is answered with its own,
			"answer/loser",                 // though they were in flight together,
			"reuse/refused",                // and with two payloads one of each is charged,
			"provider/key-distinct",        // under the one key that both derive
			"client/abort-safe",            // and the client that left has a retry that charges
			"claim/recovers",               // or one that is refused for the other's payload
		}
	case "effect/accounted": // a charge that nobody knows of is made again by the next
		return []string{"effect/at-most-once", "effect/silent-duplicate", "effect/failure-unbacked", "effect/unknown-stays-unknown", "provider/key-distinct", "client/abort-safe"}
	}
	return nil
}
