package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/idemrace/idemrace/history"
)

// All is the catalogue of invariants, family by family. A new one is an entry in
// its family's file; a new family is one line here.
func All() []Invariant {
	return slices.Concat(
		effectLaws(), providerLaws(), answerLaws(), reuseLaws(), claimLaws(), recordLaws(),
		errorLaws(), scopeLaws(), keyLaws(), outageLaws(), clientLaws(),
	)
}

// Lookup finds an invariant by its id.
func Lookup(id string) (Invariant, bool) {
	for _, inv := range All() {
		if inv.ID == id {
			return inv, true
		}
	}
	return Invariant{}, false
}

// Stresses lists all stresses.
func Stresses() []Stress {
	return []Stress{Overlap, TwoWorkers, OwnerDies, LeaseOverrun, StoreDown, ReplyLost, CompletionLost, StoreBlip, DownPastLease,
		ProviderError, ProviderUnknown, UnknownFreed, ChargeHidden, ClientLeaves, PayloadVaries, NamesVary, Replay,
		PatienceEnds, OwnerFails, MembersMove, NamesJoin, KeyOverlong, WaiterLeaves, Oversize, ClaimTorn, Renewed, Always}
}

// Needs lists all needs.
func Needs() []Need {
	return []Need{NeedsNothing, NeedsProviderKey, NeedsNoKeys, NeedsDurableStore, NeedsFailClosed}
}

// Validate returns an error that names what is not known: an invariant, a stress
// or a need.
func (l Lack) Validate() error {
	if _, ok := Lookup(l.Invariant); !ok {
		return fmt.Errorf("check: unknown invariant %q", l.Invariant)
	}
	if !slices.Contains(Stresses(), l.Stress) {
		return fmt.Errorf("check: unknown stress %q", l.Stress)
	}
	if !slices.Contains(Needs(), l.Unless) {
		return fmt.Errorf("check: unknown need %q", l.Unless)
	}
	return nil
}

// Validate returns an error if the invariant is not known.
func (e Exposure) Validate() error {
	if _, ok := Lookup(e.Invariant); !ok {
		return fmt.Errorf("check: unknown invariant %q", e.Invariant)
	}
	return nil
}

// law makes an invariant of a predicate over the view.
func law(i Invariant, judge func(*view) *Violation) Invariant {
	i.onView = judge
	i.Judge = func(h *history.History) *Violation { return judge(newView(h)) }
	return i
}

// Judge judges h by every invariant that applies, in the catalogue's order. A
// failed control makes "held" inconclusive: a race that did not happen proves
// nothing. What is violated stays so.
func Judge(h *history.History) []Finding {
	v, doubt := newView(h), doubts(Controls(h))
	var findings []Finding
	for _, inv := range All() {
		if inv.Applies != nil && !inv.Applies(h) {
			continue
		}
		f := Finding{Invariant: inv.ID, Verdict: Held}
		if bad := inv.onView(v); bad != nil {
			f.Verdict, f.Because, f.Events = Violated, bad.Because, bad.Events
		} else if doubt != "" {
			f.Verdict, f.Because = Inconclusive, doubt
		}
		findings = append(findings, f)
	}
	return findings
}

// doubts says which controls failed, "" if none did.
func doubts(controls []Seen) string {
	var failed []string
	for _, c := range controls {
		switch {
		case !KnownControl(c.Name):
			failed = append(failed, fmt.Sprintf("%s is not a control that can be counted", quoted(c.Name)))
		case !c.OK():
			failed = append(failed, fmt.Sprintf("%s was seen %d times, not %d", c.Name, c.Seen, c.Min))
		}
	}
	if failed == nil {
		return ""
	}
	return "nothing is proved, because what this scenario is about did not happen: " + strings.Join(failed, "; ") + "."
}

// Worst is the worst verdict of all, Held if there are none.
func Worst(findings []Finding) Verdict {
	worst := Held
	for _, f := range findings {
		if f.Verdict == Violated {
			return Violated
		}
		if f.Verdict == Inconclusive {
			worst = Inconclusive
		}
	}
	return worst
}
