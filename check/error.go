package check

import (
	"slices"
	"time"

	"github.com/idemrace/idemrace/history"
)

func errorLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "error/not-pinned",
			Predicate: "After a transient failure without effect, where the policy frees the key, a later retry can succeed: it executes anew.",
			Why:       "A passing fault becomes a payment that cannot be made until the key expires.",
			Applies:   func(h *history.History) bool { return h.Header.Releases && anyDuplicate(h) }}, notPinned),
	}
}

// notPinned judges retries that had the key for themselves: sent after the
// failure was answered, with nobody else in flight.
func notPinned(v *view) *Violation {
	for _, k := range v.keys {
		var failed, latest *attempt
		for i, a := range k.attempts {
			alone := latest == nil || a.send.Seq > v.end(latest).Seq
			if failed != nil && alone && v.nextAfter(k, i) && v.pinned(a) && !declinedAgain(failed, a) && sameRequest(failed, a) {
				return violation([]history.Event{failed.answer, a.send, a.answer},
					"%s %s, nothing had been charged, but %s, sent %s, %s without any execution of its own: the failure is pinned to the key",
					v.told(failed), at(failed.answer), v.who(a), at(a.send), "was told "+answerWords(a.answer.Answer)+" "+at(a.answer))
			}
			if latest == nil || v.end(a).Seq > v.end(latest).Seq {
				latest = a
			}
			if alone && v.transient(a) {
				failed = a
			} else if failed != nil && (a.executed().Seq > 0 || !v.clean(a) && !v.pinned(a) || v.foundUnknown(a, failed)) {
				failed = nil // things have moved on
			}
		}
	}
	return nil
}

// foundUnknown: a took the claim over while the failed one was at work, and so found
// its outcome unknown. Where claims are not seen, the lease must have had time to end.
func (v *view) foundUnknown(a, failed *attempt) bool {
	if !a.answered(history.UnknownOutcome) || a.send.Seq > v.end(failed).Seq {
		return false
	}
	if len(failed.ops) > 0 {
		return slices.ContainsFunc(a.ops, claims)
	}
	return v.header.LeaseMS == 0 || slices.ContainsFunc(v.faults, func(f history.Event) bool {
		return f.Op == "end-leases" && f.N > 0 && f.Seq > failed.send.Seq && f.Seq < a.answer.Seq
	}) || a.answer.At-failed.send.At >= time.Duration(v.header.LeaseMS)*time.Millisecond
}

// declinedAgain: a provider's definitive no may be kept as the answer.
func declinedAgain(failed, a *attempt) bool {
	return failed.answered(history.Declined) && a.answered(history.Declined)
}

// transient: the attempt executed, failed without effect, and said so.
func (v *view) transient(a *attempt) bool {
	if a.executed().Seq == 0 || a.storeFailed() || v.killed(a) || !a.answered(history.Error, history.Declined) || len(v.logical(a.send.Ref).charges) > 0 {
		return false
	}
	for _, r := range a.runs {
		if r.ran.Class != history.ClassError && r.ran.Class != history.ClassNoEffect {
			return false
		}
	}
	return true
}

// pinned: an answer that is nobody's own failure.
func (v *view) pinned(a *attempt) bool {
	return (a.answered(history.InProgress) || a.answered(nobodysFailure()...)) &&
		a.executed().Seq == 0 && !a.storeFailed() && !v.storeBlind(a) && !v.deadWorker(a)
}

// nextAfter: the attempt sent next under the key came after the i-th was over.
func (v *view) nextAfter(k *keyed, i int) bool {
	return i+1 == len(k.attempts) || k.attempts[i+1].send.Seq > v.end(k.attempts[i]).Seq
}
