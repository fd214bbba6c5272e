package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/idemrace/idemrace/results"
)

// most is how many annotations GitHub shows for one step; it drops the others.
const most = 10

// drawGitHub draws workflow commands, which GitHub shows as annotations: errors
// for what is not as expected or could not run, warnings for what is inconclusive,
// notices for what is known and accepted. If there are more than it shows, the last
// one says how many.
func drawGitHub(w io.Writer, run results.Run, opt Options) error {
	run = results.Redact(run)
	var lines []string
	for _, level := range []string{"error", "warning", "notice"} {
		for _, c := range run.Cells {
			if l, text := annotation(c); l == level {
				lines = append(lines, command(l, c.Target+" in "+c.Scenario, text))
			}
		}
	}
	if n := len(lines); n > most {
		lines = append(lines[:most-1], command("error", "idemrace", fmt.Sprintf("%d more are in the report", n-most+1)))
	}
	lines = append(lines, command("notice", "idemrace", summary(run)))
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// annotation is a cell's level and text; "" for one that needs none.
func annotation(c results.Cell) (level, text string) {
	double, _ := results.DoubleCharges(c)
	switch {
	case c.Status == results.NotApplicable:
		return "", ""
	case c.Status == results.CouldNotRun:
		return "error", "could not run: " + c.Why
	case c.Accepted:
		return "notice", "known and accepted: " + firstReason(c)
	case c.Verdict == "inconclusive":
		return "warning", firstReason(c)
	case !c.AsExpected, double > 0 && !c.AtLeastOnce:
		return "error", firstReason(c)
	}
	return "", ""
}

// firstReason is the worst thing that there is to say of a cell.
func firstReason(c results.Cell) string {
	for _, verdict := range []string{"violated", "inconclusive"} {
		for _, f := range c.Findings {
			if f.Verdict == verdict {
				return f.Invariant + ": " + f.Because
			}
		}
	}
	text, _ := verdict(c)
	return text
}

func command(level, title, text string) string {
	return fmt.Sprintf("::%s title=%s::%s", level, property(clean(title)), data(clean(text)))
}

// data and property escape as GitHub's runner reads: actions/toolkit, command.ts.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func property(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}
