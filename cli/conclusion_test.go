package cli

import (
	"strings"
	"testing"

	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
)

// The kinds of cells that a conclusion tells apart.
func good(name string) results.Cell {
	return results.Cell{Scenario: name, Target: "wait", Status: results.Judged, Verdict: "held", AsExpected: true}
}

func wrong(name string) results.Cell {
	c := good(name)
	c.Verdict, c.AsExpected = "violated", false
	return c
}

func unclear(name string) results.Cell {
	c := wrong(name)
	c.Verdict = "inconclusive"
	return c
}

func failed(name, why string) results.Cell {
	return results.Cell{Scenario: name, Target: "wait", Status: results.CouldNotRun, Why: why}
}

func twice(name string, byNature bool) results.Cell {
	c := good(name)
	c.Verdict, c.AtLeastOnce = "violated", byNature
	c.Charges = []results.Charge{{ID: "ch_1", Ref: "r1"}, {ID: "ch_2", Ref: "r1"}}
	return c
}

func runOf(cells ...results.Cell) results.Run {
	return results.Run{Cells: cells, Summary: results.Summarise(cells)}
}

func interruptedRun(cells ...results.Cell) results.Run {
	run := runOf(cells...)
	run.Interrupted = true
	return run
}

func TestConclude(t *testing.T) {
	tests := []struct {
		why       string
		run       results.Run
		gate      gate
		differing []results.Cell
		code      int
		reason    string
	}{
		{"all well", runOf(good("a")), gateOff, nil, 0, "everything as expected"},
		{"an expected double charge is no failure", runOf(twice("a", false)), gateOff, nil, 0, "everything as expected"},
		{"the gate closes on it all the same", runOf(twice("a", false)), gateOn, nil, 1, "the gate is closed: 1 double charge (wait in a)"},
		{"by nature: the plain gate lets it pass", runOf(twice("a", true)), gateOn, nil, 0, "the gate is open: the 1 double charge is in a scenario that is at-least-once by nature (--gate=strict closes on it)"},
		{"several", runOf(twice("a", true), twice("b", true), good("c")), gateOn, nil, 0, "the gate is open: all 2 double charges are in scenarios that are at-least-once by nature (--gate=strict closes on them)"},
		{"by nature: the strict one does not", runOf(twice("a", true), twice("b", false)), gateStrict, nil, 1, "2 double charges (wait in a, wait in b)"},
		{"an unexpected verdict", runOf(good("a"), wrong("b")), gateOff, nil, 1, "1 cell not as expected (wait in b)"},
		{"both reasons are said", runOf(wrong("a"), twice("b", false)), gateOn, nil, 1, "not as expected (wait in a); the gate is closed"},
		{"repeats that differ", runOf(good("a")), gateOff, []results.Cell{good("a")}, 1, "1 verdict differed between repeats (wait in a)"},
		{"an inconclusive one is 3, not 1", runOf(unclear("a")), gateOff, nil, 3, "1 cell inconclusive (wait in a)"},
		{"could not run is worse than inconclusive", runOf(unclear("a"), failed("b", "no disk")), gateOff, nil, 4, "1 cell could not run: no disk"},
		{"unexpected is worse than could not run", runOf(wrong("a"), failed("b", "no disk"), unclear("c")), gateOff, nil, 1, "wait in a"},
		{"interrupted is always 130", interruptedRun(wrong("a"), failed("b", "interrupted")), gateStrict, nil, 130, "interrupted: 1 of 2 cells"},
		{"nothing applied is told from all is well", runOf(results.Cell{Status: results.NotApplicable}), gateOff, nil, 0, "no cell was judged"},
		{"a long list is cut short", runOf(wrong("a"), wrong("b"), wrong("c"), wrong("d"), wrong("e")), gateOff, nil, 1, "wait in c, and 2 more"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got := conclude(tt.run, tt.gate, tt.differing)
			if got.code != tt.code || !strings.Contains(got.reason, tt.reason) {
				t.Errorf("got %d %q, want %d and %q", got.code, got.reason, tt.code, tt.reason)
			}
		})
	}
}

// TestAllIsWell: without a gate, or with nothing that it let pass, there is no word
// of one.
func TestAllIsWell(t *testing.T) {
	for _, c := range []conclusion{
		conclude(runOf(twice("a", true)), gateOff, nil), conclude(runOf(good("a")), gateOn, nil), conclude(runOf(good("a")), gateStrict, nil),
	} {
		if c.code != ExitOK || c.reason != "everything as expected" {
			t.Errorf("got %d %q", c.code, c.reason)
		}
	}
}

// TestConcludeSaved: a saved run keeps its gate until another is given; a selftest
// has an end of its own.
func TestConcludeSaved(t *testing.T) {
	gated := func(word string) results.Run {
		run := runOf(twice("a", true), twice("b", false))
		run.Gate = word
		return run
	}
	toothless := runOf(good("a"))
	toothless.Selftest = &results.Matrix{Recall: results.Figure{Have: 1, Of: 2}, Missed: []results.Missed{{Target: "wait"}}}
	tests := []struct {
		why    string
		run    results.Run
		gate   gate
		code   int
		reason string
	}{
		{"none was saved", gated(""), gateSaved, 0, "everything as expected"},
		{"the saved one", gated("on"), gateSaved, 1, "1 double charge (wait in b)"},
		{"the saved strict one", gated("strict"), gateSaved, 1, "2 double charges"},
		{"another is given", gated("strict"), gateOn, 1, "1 double charge (wait in b)"},
		{"none is wanted", gated("strict"), gateOff, 0, "everything as expected"},
		{"one is wanted where none was", gated(""), gateStrict, 1, "2 double charges"},
		{"a selftest that missed a lack", toothless, gateSaved, 1, "1 lack not caught"},
	}
	for _, tt := range tests {
		if got := concludeSaved(tt.run, tt.gate); got.code != tt.code || !strings.Contains(got.reason, tt.reason) {
			t.Errorf("%s: got %d %q, want %d and %q", tt.why, got.code, got.reason, tt.code, tt.reason)
		}
	}
}

// TestRepeatsKeepTheWorst: the shown run is the worst, of equals the last; and a
// verdict that changes is found whichever way it changes.
func TestRepeatsKeepTheWorst(t *testing.T) {
	tests := []struct {
		why       string
		runs      []results.Run
		worst     int // index of the run that must be kept
		differing int
	}{
		{"all alike: the last", []results.Run{runOf(good("a")), runOf(good("a"))}, 1, 0},
		{"the bad one in the middle", []results.Run{runOf(good("a")), runOf(wrong("a")), runOf(good("a"))}, 1, 1},
		{"the bad one first", []results.Run{runOf(wrong("a")), runOf(good("a"))}, 0, 1},
		{"a cell is counted once", []results.Run{runOf(good("a")), runOf(wrong("a")), runOf(wrong("a"))}, 2, 1},
		{"expected but different differs, too", []results.Run{runOf(good("a")), runOf(twice("a", false))}, 1, 1},
		{"what an interruption stopped does not differ", []results.Run{runOf(good("a")), interruptedRun(failed("a", "interrupted"))}, 1, 0},
		{"nor does what a dead store left undone", []results.Run{runOf(good("a")), runOf(failed("a", "the store died"))}, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			done := &repeats{first: map[string]string{}, outcome: outcome}
			for i, run := range tt.runs {
				run.Seed = int64(i)
				done.add(run, runner.Histories{})
			}
			if done.worst.Seed != int64(tt.worst) || len(done.differing) != tt.differing {
				t.Errorf("kept run %d with %d differing; want run %d and %d", done.worst.Seed, len(done.differing), tt.worst, tt.differing)
			}
		})
	}
}
