package idempotencytest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/report"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
)

// exam is a run, and what to say of it.
type exam struct {
	opts      Options
	entry     impl.Entry
	scenarios []scenarios.Scenario
	foreign   map[string]string // scenario → why it does not apply
	run       results.Run
	histories runner.Histories
}

func (x *exam) fitting(all []scenarios.Scenario) []scenarios.Scenario {
	return slices.DeleteFunc(slices.Clone(all), func(s scenarios.Scenario) bool { return x.foreign[s.Name] != "" })
}

// played says which scenarios prove nothing, and why.
func (x *exam) played(t *testing.T) {
	for _, name := range names() {
		if why := x.foreign[name]; why != "" {
			t.Logf("%s: not applicable: %s", name, why)
		}
	}
	for _, c := range x.run.Cells {
		switch why := x.unexamined(c); {
		case c.Status == results.NotApplicable:
			t.Logf("%s: not applicable: %s", c.Scenario, c.Why)
		case c.Status != results.Judged:
			t.Errorf("%s: could not run: %s\n%s", c.Scenario, c.Why, x.reproduce(t, c))
		case why != "":
			t.Logf("%s: not examined: %s", c.Scenario, why)
		case c.Verdict == string(check.Inconclusive):
			t.Errorf("%s: inconclusive: %s\n%s\n%s", c.Scenario, doubt(c), x.timeline(c), x.reproduce(t, c))
		}
	}
}

// doubt is why nothing was proved.
func doubt(c results.Cell) string {
	for _, f := range c.Findings {
		if f.Verdict == string(check.Inconclusive) {
			return f.Because
		}
	}
	return "a control was not seen"
}

// judge is the subtest of one invariant.
func (x *exam) judge(t *testing.T, inv check.Invariant) {
	judged, held := 0, 0
	for _, c := range x.run.Cells {
		if c.Status != results.Judged {
			continue
		}
		for _, f := range c.Findings {
			if f.Invariant == inv.ID {
				judged++
				held += x.finding(t, c, f)
			}
		}
	}
	switch {
	case t.Failed():
		t.Logf("the law: %s\nwhat breaks otherwise: %s", inv.Predicate, inv.Why)
	case judged == 0 && x.entry.Unseen:
		t.Log("not applicable: nothing played can show it of a coordinator with a client of its own")
	case judged == 0:
		t.Log("not applicable: nothing played can show it")
	default:
		t.Logf("held in %d of %d scenarios", held, judged)
	}
}

// finding judges one verdict against what was declared, and counts 1 if it held.
func (x *exam) finding(t *testing.T, c results.Cell, f results.Finding) (held int) {
	switch {
	case f.Verdict == string(check.Violated) && f.Expected == string(check.Held):
		t.Errorf("%s (%s):\n%s\n\n%s\n%s", c.Scenario, c.Title, f.Because, x.timeline(c), x.reproduce(t, c))
	case f.Verdict == string(check.Violated):
		t.Logf("%s: lacked, as declared: %s", c.Scenario, f.Because)
	case f.Verdict == string(check.Inconclusive):
		return 0 // said once, in the subtest of the scenarios
	case x.unexamined(c) != "":
		return 0
	case f.Expected == string(check.Violated):
		t.Errorf("%s: Options.Lacks says that %s is not kept under %s, and this scenario shows that surely, yet it held: take it out of the list\n%s",
			c.Scenario, f.Invariant, x.stresses(c, f.Invariant), x.reproduce(t, c))
	default:
		return 1
	}
	return 0
}

// stresses are those under which the invariant is declared to be lacked in the cell.
func (x *exam) stresses(c results.Cell, invariant string) string {
	var all []string
	if s, ok := scenarios.Lookup(c.Scenario); ok {
		for _, l := range x.opts.Lacks {
			if l.Invariant == invariant && slices.Contains(s.Stresses, l.Stress) {
				all = append(all, string(l.Stress))
			}
		}
	}
	return strings.Join(all, ", ")
}

// timeline is the cell's history as text.
func (x *exam) timeline(c results.Cell) string {
	h := x.histories[results.CellName(c)]
	if h == nil {
		return ""
	}
	var b strings.Builder
	if err := report.Timeline(&b, h, report.TimelineOptions{}); err != nil {
		return err.Error()
	}
	return b.String()
}

// reproduce is the line that plays it again, with what cannot be said on a line.
func (x *exam) reproduce(t *testing.T, c results.Cell) string {
	var parts []string
	for _, p := range strings.Split(t.Name(), "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(p)+"$")
	}
	return fmt.Sprintf("reproduce: go test -count=1 -run '%s' . # with Options{Scenarios: []string{%q}, Seed: %d}",
		strings.Join(parts, "/"), c.Scenario, x.opts.seed())
}

// history of a cell, an empty one if it has none.
func (x *exam) history(c results.Cell) *history.History {
	if h := x.histories[results.CellName(c)]; h != nil {
		return h
	}
	return &history.History{}
}
