package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/cache"
	"github.com/idemrace/idemrace/results"
)

// mine is cache under another name, with what it says that it lacks.
func mine(lacks []check.Lack) impl.Entry {
	return impl.Entry{Name: "mine", Doc: "somebody's own", Lacks: lacks,
		New: func(e impl.Env) (idempotency.Coordinator, error) { return cache.New(e.KV, e.Config) }}
}

// TestSelftestOfAnExtraCoordinator: what is handed in is judged as all others are.
func TestSelftestOfAnExtraCoordinator(t *testing.T) {
	known, _ := impl.Lookup("cache")
	tests := []struct {
		reason string
		lacks  []check.Lack
		code   int
		says   string
	}{
		{"an honest entry", known.Lacks, ExitOK, "mine                          1"},
		{"an entry that claims to be sound", nil, ExitUnexpected, "FALSE ALARM mine in burst: effect/at-most-once violated: "},
		{"an entry that claims a fault that it has not", append(known.Lacks, check.Lack{Invariant: "claim/mortal", Stress: check.WaiterLeaves}),
			ExitOK, "recall:"}, // the scenario that could show it was not run
	}
	for _, test := range tests {
		var out, complaints bytes.Buffer
		args := []string{"selftest", "--impl", "mine", "--scenario", "burst", "--store", "embedded"}
		code := Run(context.Background(), Config{Args: args, Stdout: &out, Stderr: &complaints, Extra: []impl.Entry{mine(test.lacks)}})
		if code != test.code || !strings.Contains(squeezed(out.String()), squeezed(test.says)) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", test.reason, code, test.code, test.says, out.String(), complaints.String())
		}
	}
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestConcludeSelftest(t *testing.T) {
	full := func(m results.Matrix) results.Run {
		return results.Run{Selftest: &m, Cells: []results.Cell{{Scenario: "burst", Target: "wait", Status: results.Judged, Verdict: "held", AsExpected: true}}}
	}
	with := func(run results.Run, change func(*results.Run)) results.Run {
		change(&run)
		run.Summary = results.Summarise(run.Cells)
		return run
	}
	short, whole := results.Figure{Have: 1, Of: 2}, results.Figure{Have: 2, Of: 2}
	tests := []struct {
		reason    string
		run       results.Run
		differing []results.Cell
		code      int
		says      string
	}{
		{"both full", full(results.Matrix{Recall: whole, Precision: whole}), nil, ExitOK, "whatever is lacked was caught"},
		{"recall short", full(results.Matrix{Recall: short, Precision: whole, Missed: make([]results.Missed, 1)}), nil, ExitUnexpected, "1 lack not caught"},
		{"precision short", full(results.Matrix{Recall: whole, Precision: short}), nil, ExitUnexpected, "1 false alarm"},
		{"a verdict differed", full(results.Matrix{Recall: whole, Precision: whole}), []results.Cell{{Scenario: "burst", Target: "wait"}}, ExitUnexpected, "1 cell not the same in each repeat (wait in burst)"},
		{"inconclusive", with(full(results.Matrix{Recall: whole, Precision: whole}), func(r *results.Run) { r.Cells[0].Verdict, r.Cells[0].AsExpected = "inconclusive", false }),
			nil, ExitInconclusive, "inconclusive"},
		{"could not run", with(full(results.Matrix{Recall: whole, Precision: whole}), func(r *results.Run) { r.Cells[0].Status, r.Cells[0].Why = results.CouldNotRun, "no disk" }),
			nil, ExitCouldNotRun, "no disk"},
		{"a scenario lost its teeth", with(full(results.Matrix{Recall: whole, Precision: whole}), func(r *results.Run) { r.Cells[0].AsExpected = false }),
			nil, ExitUnexpected, "not as expected"},
		{"interrupted goes before all", with(full(results.Matrix{Recall: short, Precision: whole}), func(r *results.Run) { r.Interrupted = true }), nil, ExitInterrupted, "interrupted"},
	}
	for _, test := range tests {
		end := concludeSelftest(test.run, test.differing)
		if end.code != test.code || !strings.Contains(end.reason, test.says) {
			t.Errorf("%s: exit %d, %s", test.reason, end.code, end.reason)
		}
	}
}

func TestDifference(t *testing.T) {
	tests := []struct{ reason, first, now, want string }{
		{"all alike", "cell judged held, claim/fenced held", "cell judged held, claim/fenced held", ""},
		{"what did not apply once is no verdict", "cell judged held, answer/in-progress-true held", "cell judged held", ""},
		{"a verdict beside a cell's that stayed", "cell judged violated, claim/fenced held", "cell judged violated, claim/fenced violated", "claim/fenced first held, then violated"},
		{"the cell's own", "cell judged held", "cell judged inconclusive", "cell first judged held, then judged inconclusive"},
	}
	for _, test := range tests {
		if got := difference(test.first, test.now); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
