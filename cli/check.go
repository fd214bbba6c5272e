package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// historySuffix is by what a history is told from a run.
const historySuffix = ".jsonl"

func (a *app) checkVerb() *cobra.Command {
	var f outputFlags
	cmd := &cobra.Command{
		Use:   "check DIR|run.json|HISTORY.jsonl",
		Short: "Judge a saved run, or one history, again",
		Long: "check judges the histories of a saved run again, with today's invariants, and keeps\n" +
			"the expectations that were saved with it. A verdict that differs from the saved one\n" +
			"is said, and is exit 1. Else the exit code is the one that the run had: its gate is\n" +
			"saved with it, and another --gate goes before that one.\n\n" +
			"Of a single history the same is expected as in a run, if its scenario and\n" +
			"coordinator are known; else that every invariant holds.\n\n" + exitTable(),
		Example: "  idemrace check results/today\n  idemrace check results/today/history/in-flight.cache.jsonl\n  idemrace check results/today --gate",
		Args:    onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.HasSuffix(args[0], historySuffix) {
				return a.checkHistory(cmd.Context(), args[0], f)
			}
			return a.checkRun(cmd.Context(), args[0], f)
		},
	}
	f.addSaved(cmd)
	return cmd
}

func onePath(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return usage("%s takes one saved run, got %d arguments; save one with: idemrace run --save DIR", cmd.Name(), len(args))
}

func (a *app) checkRun(ctx context.Context, path string, f outputFlags) error {
	saved, err := loadRun(ctx, path)
	if err != nil {
		return err
	}
	run, err := interruptible(ctx, func() (results.Run, error) { return judgedAgain(path, saved) })
	if err != nil {
		return err
	}
	out, err := f.open(a)
	if err != nil {
		return err
	}
	defer out.close()
	if err := out.write(run); err != nil {
		return err
	}
	end := concludeSaved(run, f.gate)
	if changed := changes(saved, run); len(changed) > 0 {
		for _, line := range changed {
			fmt.Fprintln(out.lastWords(), line)
		}
		end = differs(end, len(changed))
	}
	return out.exitLines(end, a.checkAgain(path, f.gate, end))
}

// differs: a verdict that is not the saved one is exit 1, whatever else there is.
func differs(end conclusion, n int) conclusion {
	reason := count(n, "verdict") + " not as saved"
	if end.code == ExitUnexpected {
		reason = end.reason + "; " + reason
	}
	return conclusion{ExitUnexpected, reason, end.cells}
}

// checkAgain is the line that shows a failure again. A gate that was saved needs no
// word.
func (a *app) checkAgain(path string, g gate, end conclusion) string {
	if end.code == ExitOK {
		return ""
	}
	line := a.name + " check " + shellWord(path)
	switch g {
	case gateOn:
		line += " --gate"
	case gateStrict, gateOff:
		line += " --gate=" + string(g)
	}
	return line
}

// load reads a saved run. Whatever is wrong with it is the caller's mistake.
func loadRun(ctx context.Context, path string) (results.Run, error) {
	run, err := interruptible(ctx, func() (results.Run, error) { return results.Load(path) })
	switch {
	case err == nil:
		return run, nil
	case errors.Is(err, fs.ErrNotExist):
		return run, usage("no run at %s; save one with: idemrace run --save DIR", path)
	}
	return run, usage("%w; save one with: idemrace run --save DIR", err)
}

// judgedAgain is the run with every judged cell's history judged again.
func judgedAgain(path string, saved results.Run) (results.Run, error) {
	run := saved
	run.Cells = nil
	for _, c := range saved.Cells {
		if c.Status == results.Judged {
			h, err := results.LoadHistory(path, c)
			if err != nil {
				return run, usage("cannot judge again: %w; make the run again with: idemrace run --save DIR", err)
			}
			if h.Header.Scenario != c.Scenario || h.Header.Target != c.Target {
				return run, usage("cannot judge again: %s holds the history of %s in %s; make the run again with: idemrace run --save DIR",
					c.History, h.Header.Target, h.Header.Scenario)
			}
			c = runner.Rejudge(c, h)
		}
		run.Cells = append(run.Cells, c)
	}
	run.Summary = results.Summarise(run.Cells)
	return run, nil
}

// changes are the verdicts that are not the saved ones, one line each.
func changes(saved, now results.Run) []string {
	var lines []string
	for i, c := range now.Cells {
		if was := saved.Cells[i]; was.Status == results.Judged && was.Verdict != c.Verdict {
			lines = append(lines, fmt.Sprintf("changed: %s in %s was %s, is now %s", c.Target, c.Scenario, was.Verdict, c.Verdict))
		}
	}
	return lines
}

// checkHistory judges one history as a run of one cell.
func (a *app) checkHistory(ctx context.Context, path string, f outputFlags) error {
	h, err := interruptible(ctx, func() (*history.History, error) { return readHistory(path) })
	if err != nil {
		return err
	}
	run := results.Run{Schema: results.Schema, Seed: h.Header.Seed, Tool: results.Tool{Version: toolVersion(), Go: runtime.Version()},
		Store: results.Store{Kind: backend.Auto, Version: "(a history does not say which)"}}
	run.Cells = []results.Cell{a.judgeHistory(h)}
	run.Summary = results.Summarise(run.Cells)
	out, err := f.open(a)
	if err != nil {
		return err
	}
	defer out.close()
	if err := errors.Join(out.write(run), a.findings(out, run.Cells[0])); err != nil {
		return err
	}
	end := concludeSaved(run, f.gate)
	return out.exitLines(end, a.checkAgain(path, f.gate, end))
}

// judgeHistory expects what a run would, if it knows scenario and coordinator;
// else that everything holds.
func (a *app) judgeHistory(h *history.History) results.Cell {
	s, known := scenarios.Lookup(h.Header.Scenario)
	for _, e := range a.entries() {
		if known && e.Name == h.Header.Target {
			return runner.JudgeHistory(h, s, e)
		}
	}
	return runner.JudgeHistory(h, scenarios.Scenario{Name: h.Header.Scenario}, impl.Entry{Name: h.Header.Target})
}

// findings lists every verdict of one cell.
func (a *app) findings(out *output, c results.Cell) error {
	if out.lastWords() != a.stdout {
		return nil
	}
	var b strings.Builder
	for _, f := range c.Findings {
		fmt.Fprintf(&b, "%-12s  %s\n", f.Verdict, f.Invariant)
	}
	return a.print([]byte(b.String()))
}

func readHistory(path string) (*history.History, error) {
	file, err := results.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage("no history at %s; save some with: idemrace run --save DIR", path)
	}
	if err != nil {
		return nil, usage("%w; save one with: idemrace run --save DIR", err)
	}
	defer file.Close()
	h, err := history.Read(file)
	if err != nil {
		return nil, usage("%s: %w; save a new one with: idemrace run --save DIR", path, err)
	}
	return h, nil
}
