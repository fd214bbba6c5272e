package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
)

// repeats is a run that was made once or more often.
type repeats struct {
	runs, times int // made, and wanted
	worst       results.Run
	histories   runner.Histories // of the worst
	first       map[string]string
	differing   []results.Cell            // whose verdict was not always the first one; what could not run has none
	how         []string                  // beside differing: which verdicts, and what they were first
	outcome     func(results.Cell) string // what is compared; nil: status and verdict
}

// repeat runs cfg several times and keeps the worst run, of equals the last. It
// stops when the run is interrupted or the store is gone.
func (a *app) repeat(ctx context.Context, cfg runner.Config, times int, outcome func(results.Cell) string) *repeats {
	p := a.progress()
	defer p.clear()
	cfg.Progress = p.cell
	done := &repeats{times: times, first: map[string]string{}, outcome: outcome}
	for done.runs < times {
		run, histories := runner.Run(ctx, cfg)
		done.add(run, histories)
		if times > 1 {
			p.say("%s", done.line(run))
		}
		if run.Interrupted || run.Summary.CouldNotRun > 0 {
			break
		}
	}
	return done
}

func (r *repeats) add(run results.Run, histories runner.Histories) {
	r.runs++
	if r.runs == 1 || severity(run) >= severity(r.worst) {
		r.worst, r.histories = run, histories
	}
	if r.outcome == nil {
		r.outcome = outcome
	}
	for _, c := range run.Cells {
		name, now := results.CellName(c), r.outcome(c)
		first, seen := r.first[name]
		if !seen {
			r.first[name] = now
		} else if how := difference(first, now); how != "" && c.Status != results.CouldNotRun && !run.Interrupted && !r.differs(name) {
			r.differing = append(r.differing, c)
			r.how = append(r.how, how)
		}
	}
}

func (r *repeats) differs(name string) bool {
	return slices.ContainsFunc(r.differing, func(c results.Cell) bool { return results.CellName(c) == name })
}

func outcome(c results.Cell) string { return "cell " + strings.TrimSpace(c.Status+" "+c.Verdict) }

// outcomes is every verdict of a cell.
func outcomes(c results.Cell) string {
	words := []string{outcome(c)}
	for _, f := range c.Findings {
		words = append(words, f.Invariant+" "+f.Verdict)
	}
	return strings.Join(words, ", ")
}

// difference names the verdicts that changed, "" if none did. An invariant that did
// not apply once is no verdict: whether a duplicate was told "in progress" or was
// served can be chance, and both right.
func difference(first, now string) string {
	before := map[string]string{}
	for _, word := range strings.Split(first, ", ") {
		of, verdict, _ := strings.Cut(word, " ")
		before[of] = verdict
	}
	var changed []string
	for _, word := range strings.Split(now, ", ") {
		of, verdict, _ := strings.Cut(word, " ")
		if was, judged := before[of]; judged && was != verdict {
			changed = append(changed, fmt.Sprintf("%s first %s, then %s", of, was, verdict))
		}
	}
	return strings.Join(changed, "; ")
}

// severity orders runs as exit codes do.
func severity(run results.Run) int {
	return slices.Index([]int{ExitOK, ExitInconclusive, ExitCouldNotRun, ExitUnexpected, ExitInterrupted}, conclude(run, gateOff, nil).code)
}

// line is one repeat's, for stderr.
func (r *repeats) line(run results.Run) string {
	s := run.Summary
	return fmt.Sprintf("repeat %d of %d: %d of %s as expected, %s, in %v", r.runs, r.times, s.AsExpected, count(s.Cells, "cell"),
		count(s.DoubleCharges, "double charge"), time.Duration(run.DurationMS*float64(time.Millisecond)).Round(time.Millisecond))
}

// say sums the repeats up under the last table.
func (r *repeats) say(out *output) {
	if r.times > 1 {
		fmt.Fprintf(out.lastWords(), "repeats: %d of %d made, %s\n", r.runs, r.times, count(len(r.differing), "differing verdict"))
		for i, c := range r.differing {
			fmt.Fprintf(out.lastWords(), "  %s in %s: %s\n", c.Target, c.Scenario, r.how[i])
		}
	}
}

// save keeps the shown run. What is shown from then on is what was saved, so
// that report draws the very same again.
func (r *repeats) save(dir string) error {
	if dir == "" {
		return nil
	}
	if err := results.Save(dir, r.worst, r.histories); err != nil {
		return err
	}
	saved, err := results.Load(dir)
	if err != nil {
		return err
	}
	r.worst = saved
	return nil
}
