package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/results"
)

func TestGitHubShowsTenAtMost(t *testing.T) {
	var run results.Run
	for i := range 14 {
		run.Cells = append(run.Cells, results.Cell{Scenario: fmt.Sprintf("s%d", i), Target: "shop", Status: results.Judged, Verdict: "violated",
			Findings: []results.Finding{{Invariant: "effect/at-most-once", Verdict: "violated", Expected: "held", Because: "A,B: 100%\nboth"}}})
	}
	var out strings.Builder
	if err := drawGitHub(&out, run, Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "::error "); n != most {
		t.Errorf("%d errors, and GitHub shows %d:\n%s", n, most, out.String())
	}
	for _, want := range []string{"5 more are in the report", "title=shop in s0::effect/at-most-once: A,B: 100%25"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestGitHubLevels(t *testing.T) {
	bad := []results.Finding{{Invariant: "effect/at-most-once", Verdict: "violated", Because: "twice"}}
	for _, row := range []struct {
		why, level string
		cell       results.Cell
	}{
		{"held", "", results.Cell{Status: results.Judged, Verdict: "held", AsExpected: true}},
		{"not applicable is no news", "", results.Cell{Status: results.NotApplicable}},
		{"unexpected", "error", results.Cell{Status: results.Judged, Verdict: "violated", Findings: bad}},
		{"could not run", "error", results.Cell{Status: results.CouldNotRun, Why: "dead"}},
		{"inconclusive may be a flake", "warning", results.Cell{Status: results.Judged, Verdict: "inconclusive"}},
		{"known", "notice", results.Cell{Status: results.Judged, Verdict: "violated", AsExpected: true, Accepted: true, Findings: bad}},
	} {
		if level, _ := annotation(row.cell); level != row.level {
			t.Errorf("%s: level %q, want %q", row.why, level, row.level)
		}
	}
}

func TestObservedStandsInTableAndMarkdown(t *testing.T) {
	run := results.Run{Observed: []results.Observation{{Target: "shop", Topic: "in flight", Seen: "409, in progress", Scenario: "in-flight"}},
		Cells: []results.Cell{{Scenario: "tenants", Target: "shop", Service: true, Status: results.NotApplicable, Why: "needs tenants"}}}
	for _, format := range []string{"table", "markdown"} {
		f, _ := Lookup(format)
		var out strings.Builder
		if err := f.Draw(&out, run, Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"409, in progress", "needs tenants", "in flight", how} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is missing in:\n%s", format, want, out.String())
			}
		}
	}
}
