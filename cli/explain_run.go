package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
)

// showing is a cell that may show a violation.
type showing struct {
	scenario  scenarios.Scenario
	entry     impl.Entry
	invariant string
	rank      int // the lower, the surer and the quicker
}

// mostShowings bounds how long a reader waits for a lesson.
const mostShowings = 16

// explainByRun tells, and then shows the first of the showings that comes out as a
// violation.
func (a *app) explainByRun(cmd *cobra.Command, text string, tries []showing, f explainFlags) error {
	if err := f.pick.check(); err != nil {
		return err
	}
	if f.noRun || len(tries) == 0 {
		return a.print([]byte(text))
	}
	cfg, err := a.runnerConfig(f.pick, coordinatorFlags{})
	if err != nil {
		return err
	}
	seen := tries[0]
	done, err := a.onStore(cmd.Context(), f.store, cfg, func(cfg runner.Config) (done *repeats, _ error) {
		done, seen = a.firstViolation(cmd.Context(), cfg, tries)
		return done, nil
	})
	if err != nil {
		return err
	}
	var l lesson
	l.head("Seen in " + seen.scenario.Name)
	l.prose(upper(seen.scenario.Title) + ".")
	if err := a.print([]byte(text + l.String() + a.shown(done, seen.invariant))); err != nil {
		return err
	}
	return explained(a, done.worst)
}

// firstViolation plays one showing after the other until one is violated.
func (a *app) firstViolation(ctx context.Context, cfg runner.Config, tries []showing) (done *repeats, seen showing) {
	for _, seen = range tries[:min(len(tries), mostShowings)] {
		cfg.Scenarios, cfg.Targets = []scenarios.Scenario{seen.scenario}, []impl.Entry{seen.entry}
		done = a.repeat(ctx, cfg, 1, outcome)
		if ctx.Err() != nil || violates(done.worst, seen.invariant) {
			break
		}
	}
	return done, seen
}

func violates(run results.Run, invariant string) bool {
	return slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		return slices.ContainsFunc(c.Findings, func(f results.Finding) bool {
			return f.Invariant == invariant && f.Verdict == string(check.Violated)
		})
	})
}

// breaking is what may show a coordinator's own fault: what it lacks beyond what
// every reservation without the provider's help does.
func (a *app) breaking(e impl.Entry) []showing {
	common, _ := impl.Lookup("wait")
	var own []showing
	for _, l := range slices.Backward(e.Lacks) { // its own fault comes last
		if e.Name == common.Name || e.Name == "raise" || !shares(common, l) {
			own = append(own, showings(e, l)...)
		}
	}
	slices.SortStableFunc(own, func(a, b showing) int { return cmp.Compare(a.rank, b.rank) })
	return own
}

func shares(common impl.Entry, l check.Lack) bool {
	return slices.ContainsFunc(common.Lacks, func(c check.Lack) bool { return c.Invariant == l.Invariant && c.Stress == l.Stress })
}

// violating is what may show an invariant to be violated, by cache if that does not
// keep it.
func (a *app) violating(invariant string) []showing {
	var all []showing
	for _, e := range a.entries() {
		var its []showing
		for _, l := range e.Lacks {
			if l.Invariant == invariant {
				its = append(its, showings(e, l)...)
			}
		}
		slices.SortStableFunc(its, func(a, b showing) int { return cmp.Compare(a.rank, b.rank) })
		all = append(all, its[:min(len(its), 4)]...)
	}
	return all
}

// showings are the scenarios that expose a lack.
func showings(e impl.Entry, l check.Lack) []showing {
	var all []showing
	for _, s := range scenarios.All() {
		i := slices.IndexFunc(s.Exposes, func(x check.Exposure) bool { return x.Invariant == l.Invariant })
		if i < 0 || len(s.Lacked([]check.Lack{l}, l.Invariant, helped(e, s))) == 0 {
			continue
		}
		rank := 0
		if !s.Exposes[i].Surely || l.Sometimes {
			rank += 2
		}
		if s.Setting.Takes > 0 {
			rank++
		}
		all = append(all, showing{s, e, l.Invariant, rank})
	}
	return all
}

// helped says which needs a cell's surroundings meet.
func helped(e impl.Entry, s scenarios.Scenario) func(check.Need) bool {
	policy := cmp.Or(s.Setting.StoreDown, e.Policy)
	return func(n check.Need) bool {
		switch n {
		case check.NeedsProviderKey:
			return s.Setting.HonoursKeys
		case check.NeedsNoKeys:
			return !s.Setting.HonoursKeys
		case check.NeedsFailClosed:
			return policy == reservation.FailClosed
		}
		return n == check.NeedsDurableStore
	}
}
