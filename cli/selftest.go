package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
)

// matrixFormat is how a selftest is shown to people.
const matrixFormat = "matrix"

// sleepers is how many cells that last by themselves run at once: they sleep, but
// for a few milliseconds, and there are hundreds of them.
const sleepers = 64

// selftestFlags are the flags of selftest.
type selftestFlags struct {
	pick   pickFlags
	store  storeFlags
	output outputFlags
	save   string
	repeat int
}

func (a *app) selftestVerb() *cobra.Command {
	var f selftestFlags
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Judge the judge: run what is known to be broken, and see that it is caught",
		Long: "selftest runs every scenario but those in which chance decides (bursts of real time)\n" +
			"on every coordinator of the catalogue, most of which are\n" +
			"broken on purpose, each in one way that was seen in the field. It asks two things of\n" +
			"idemrace itself. Recall: was whatever a coordinator is known to lack violated by at\n" +
			"least one scenario? Precision: was nothing else? Either short of 100 % is exit 1, and\n" +
			"so is a verdict that is not the same in each repeat.\n\n" + exitTable(),
		Example: "  idemrace selftest\n" +
			"  idemrace selftest --impl stale-takeover\n" +
			"  idemrace selftest --impl zoo --scenario pause,stale-takeover\n" +
			"  idemrace selftest --store redis-server --repeat 20\n" +
			"  idemrace selftest --format matrix,json=selftest.json",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.selftest(cmd, f) },
	}
	f.pick.add(a, cmd, impl.Everyone)
	f.store.add(cmd)
	f.output.addFormat(cmd, matrixFormat)
	cmd.Flags().StringVar(&f.save, "save", "", "keep the run and its histories in this `directory`, for check and report")
	cmd.Flags().IntVar(&f.repeat, "repeat", 1, "run the whole this many times; a verdict that differs is exit 1")
	return cmd
}

func (f *selftestFlags) check() error {
	if err := f.pick.check(); err != nil {
		return err
	}
	if f.repeat < 1 {
		return usage("--repeat %d: it must run at least once, e.g. --repeat 20", f.repeat)
	}
	return checkSave(f.save)
}

// selftest is run, with the figures of the harness itself at the end.
func (a *app) selftest(cmd *cobra.Command, f selftestFlags) error {
	cfg, err := a.runnerConfig(f.pick, coordinatorFlags{})
	cfg.Sleepers = sleepers
	if len(f.pick.scenarios) == 0 {
		cfg.Scenarios = scenarios.Certain()
	}
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return err
	}
	out, err := f.output.open(a)
	if err != nil {
		return err
	}
	defer out.close()
	done, err := a.judged(cmd.Context(), f, cfg)
	if err != nil {
		return err
	}
	saving := done.save(f.save)
	if err := errors.Join(saving, out.write(done.worst)); err != nil {
		return err
	}
	done.say(out)
	end := concludeSelftest(done.worst, done.differing)
	return out.exitLines(end, reproduce(cmd, done.worst, end.cells))
}

// judged runs cfg and lays the matrix over the worst of its runs.
func (a *app) judged(ctx context.Context, f selftestFlags, cfg runner.Config) (*repeats, error) {
	done, err := a.withStore(ctx, f.store, cfg, f.repeat, outcomes)
	if err != nil {
		return nil, err
	}
	done.worst.Selftest = runner.Selftest(cfg, done.worst)
	return done, nil
}

// concludeSelftest finds the worst that there is to say of the harness:
// interrupted, then 1, 4, 3.
func concludeSelftest(run results.Run, differing []results.Cell) conclusion {
	other := conclude(run, gateOff, nil)
	reasons := shortfalls(run.Selftest)
	if len(differing) > 0 {
		reasons = append(reasons, fmt.Sprintf("%s not the same in each repeat (%s)", count(len(differing), "cell"), names(differing)))
	}
	switch {
	case run.Interrupted:
		return other
	case len(reasons) > 0:
		return conclusion{ExitUnexpected, strings.Join(reasons, "; "), append(involvedIn(run), differing...)}
	case other.code != ExitOK:
		return other
	}
	return conclusion{ExitOK, "whatever is lacked was caught, and nothing else was", nil}
}

func shortfalls(m *results.Matrix) []string {
	var reasons []string
	if !m.Recall.Full() {
		reasons = append(reasons, count(len(m.Missed), "lack")+" not caught")
	}
	if !m.Precision.Full() {
		reasons = append(reasons, count(m.Precision.Of-m.Precision.Have, "false alarm"))
	}
	return reasons
}

// involvedIn are the cells to look at again: those with a false alarm, and of what
// was missed those that were expected to show it.
func involvedIn(run results.Run) []results.Cell {
	return cellsThat(run, func(c results.Cell) bool {
		return unexpected(c) || slices.ContainsFunc(run.Selftest.False, func(f results.FalseAlarm) bool {
			return f.Target == c.Target && f.Scenario == c.Scenario
		})
	})
}
