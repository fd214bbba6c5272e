package results

import (
	"fmt"
	"time"
)

// Acceptance is a known finding: it is shown, and does not fail a run until its day.
type Acceptance struct {
	Invariant, Scenario string
	Target              string // "": every one
	Reason              string
	Until               time.Time // the last day on which it holds
}

func (a Acceptance) is(c Cell, f Finding) bool {
	return f.Verdict == violated && f.Invariant == a.Invariant && c.Scenario == a.Scenario && (a.Target == "" || c.Target == a.Target)
}

func (a Acceptance) String() string {
	if a.Target == "" {
		return a.Invariant + " in " + a.Scenario
	}
	return a.Invariant + " of " + a.Target + " in " + a.Scenario
}

// Accept marks what is known, and judges the run again without it. It returns what
// is wrong with the list itself: an acceptance that has expired marks nothing, and
// one whose finding has vanished must go, since it would hide the next one. Of one
// whose cell was not judged nothing can be said.
func (r *Run) Accept(known []Acceptance, today time.Time) (wrong []string) {
	for _, a := range known {
		if today.After(a.Until.AddDate(0, 0, 1)) {
			wrong = append(wrong, fmt.Sprintf("%s was accepted until %s (%s)", a, a.Until.Format(time.DateOnly), a.Reason))
			continue
		}
		if found, judged := r.accept(a); judged && !found {
			wrong = append(wrong, fmt.Sprintf("%s is accepted (%s), but is not found any more: take it out of the list", a, a.Reason))
		}
	}
	r.Summary, r.Stale = Summarise(r.Cells), wrong
	return wrong
}

func (r *Run) accept(a Acceptance) (found, judged bool) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Status != Judged || c.Scenario != a.Scenario || a.Target != "" && c.Target != a.Target {
			continue
		}
		judged = true
		for j := range c.Findings {
			if f := &c.Findings[j]; a.is(*c, *f) {
				f.Accepted, f.Expected, found = a.Reason, ExpectNone, true
			}
		}
		Conclude(c)
		c.Accepted = c.accepted()
	}
	return found, judged
}

// accepted: something is violated, and all that is has been accepted.
func (c *Cell) accepted() bool {
	some := false
	for _, f := range c.Findings {
		if f.Verdict == violated && f.Accepted == "" {
			return false
		}
		some = some || f.Accepted != ""
	}
	return some
}
