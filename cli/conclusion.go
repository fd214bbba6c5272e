package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/idemrace/idemrace/results"
)

// conclusion is how a run ended: the exit code, why, and which cells are to blame.
type conclusion struct {
	code   int
	reason string
	cells  []results.Cell
}

// conclude finds the worst that there is to say: interrupted, then 1, 4, 3.
// differing are cells whose verdict was not the same in each repeat.
func conclude(run results.Run, g gate, differing []results.Cell) conclusion {
	s := run.Summary
	if run.Interrupted {
		return conclusion{ExitInterrupted, fmt.Sprintf("interrupted: %d of %s", judged(run), count(s.Cells, "cell")), nil}
	}
	if c := conclude1(run, g, differing); c.code != ExitOK {
		return c
	}
	switch {
	case s.CouldNotRun > 0:
		bad := cellsThat(run, couldNotRun)
		return conclusion{ExitCouldNotRun, fmt.Sprintf("%s could not run: %s", count(len(bad), "cell"), bad[0].Why), bad}
	case s.Inconclusive > 0:
		bad := cellsThat(run, inconclusive)
		return conclusion{ExitInconclusive, fmt.Sprintf("%s inconclusive (%s)", count(len(bad), "cell"), names(bad)), bad}
	case s.NotApplicable == s.Cells && s.Cells > 0:
		return conclusion{ExitOK, "nothing applied: no cell was judged", nil}
	}
	return conclusion{ExitOK, "everything as expected" + passed(run, g), nil}
}

// concludeSaved is how a saved run ended, or would have with another gate. A
// selftest has an end of its own.
func concludeSaved(run results.Run, g gate) conclusion {
	if run.Selftest != nil && g.of(run) == gateOff {
		return concludeSelftest(run, nil)
	}
	return conclude(run, g.of(run), nil)
}

// passed says why an open gate is open all the same, where it let something pass.
func passed(run results.Run, g gate) string {
	n := run.Summary.DoubleCharges
	switch {
	case g != gateOn || n == 0:
		return ""
	case n == 1:
		return "; the gate is open: the 1 double charge is in a scenario that is at-least-once by nature (--gate=strict closes on it)"
	}
	return fmt.Sprintf("; the gate is open: all %s are in scenarios that are at-least-once by nature (--gate=strict closes on them)", count(n, "double charge"))
}

// conclude1 is what makes exit code 1; all its reasons are said.
func conclude1(run results.Run, g gate, differing []results.Cell) conclusion {
	var reasons []string
	var blamed []results.Cell
	blame := func(cells []results.Cell, reason string) {
		if len(cells) > 0 {
			reasons = append(reasons, fmt.Sprintf("%s (%s)", reason, names(cells)))
			blamed = append(blamed, cells...)
		}
	}
	bad := cellsThat(run, unexpected)
	blame(bad, count(len(bad), "cell")+" not as expected")
	shut := cellsThat(run, func(c results.Cell) bool { return g.closesOn(c) })
	blame(shut, "the gate is closed: "+count(charges(shut), "double charge"))
	blame(differing, count(len(differing), "verdict")+" differed between repeats")
	reasons = append(reasons, run.Stale...)
	if len(reasons) == 0 {
		return conclusion{}
	}
	return conclusion{ExitUnexpected, strings.Join(reasons, "; "), blamed}
}

// closesOn reports whether a cell closes the gate: any double charge does,
// expected or not, if need be but for cells that are at-least-once by nature.
func (g gate) closesOn(c results.Cell) bool {
	double, _ := results.DoubleCharges(c)
	return c.Status == results.Judged && double > 0 && !c.Accepted && (g == gateStrict || g == gateOn && !c.AtLeastOnce)
}

func charges(cells []results.Cell) int {
	n := 0
	for _, c := range cells {
		double, _ := results.DoubleCharges(c)
		n += double
	}
	return n
}

func couldNotRun(c results.Cell) bool { return c.Status == results.CouldNotRun }

func inconclusive(c results.Cell) bool {
	return c.Status == results.Judged && c.Verdict == "inconclusive"
}

func unexpected(c results.Cell) bool {
	return c.Status == results.Judged && !inconclusive(c) && !c.AsExpected
}

func judged(run results.Run) int {
	return len(cellsThat(run, func(c results.Cell) bool { return c.Status == results.Judged }))
}

func cellsThat(run results.Run, is func(results.Cell) bool) []results.Cell {
	return slices.DeleteFunc(slices.Clone(run.Cells), func(c results.Cell) bool { return !is(c) })
}

// named is how many cells are named one by one: a line is to be read.
const named = 3

func names(cells []results.Cell) string {
	var list []string
	for i, c := range cells {
		if i == named {
			list = append(list, fmt.Sprintf("and %d more", len(cells)-named))
			break
		}
		list = append(list, c.Target+" in "+c.Scenario)
	}
	return strings.Join(list, ", ")
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
