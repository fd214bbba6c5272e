package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/report"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/scenarios"
)

// explainScenario tells the scenario, then shows it.
func (a *app) explainScenario(cmd *cobra.Command, s scenarios.Scenario, f explainFlags) error {
	if err := f.pick.check(); err != nil {
		return err
	}
	f.pick.scenarios = []string{s.Name}
	cfg, err := a.runnerConfig(f.pick, coordinatorFlags{})
	if err != nil {
		return err
	}
	if f.noRun {
		return a.print([]byte(scenarioText(s)))
	}
	f.pick.parallel = len(cfg.Targets)
	cfg.Parallel = len(cfg.Targets)
	done, err := a.withStore(cmd.Context(), f.store, cfg, 1, outcome)
	if err != nil {
		return err
	}
	if err := a.print([]byte(scenarioText(s) + a.shown(done, "effect/silent-duplicate"))); err != nil {
		return err
	}
	return explained(a, done.worst)
}

// explained: a lesson whose run failed must not pass as one.
func explained(a *app, run results.Run) error {
	end := conclude(run, gateOff, nil)
	if end.code == ExitOK {
		return nil
	}
	a.complain(end.reason)
	return verdictError{end.code}
}

func scenarioText(s scenarios.Scenario) string {
	var l lesson
	fmt.Fprintf(&l, "%s\n", s.Name)
	l.prose(upper(s.Title) + ".")
	l.head("Why it matters")
	l.prose(s.Why)
	l.head("The script")
	for i, step := range s.Steps {
		l.item(fmt.Sprintf("  %2d. ", i+1), upper(step.String()))
	}
	l.head("What it stresses")
	for _, stress := range s.Stresses {
		l.item("  - ", stressWords(stress))
	}
	if len(s.Stresses) == 0 {
		l.prose("Nothing: this is the easy case, and it must be right, too.")
	}
	l.head("What it can show to be broken")
	for _, e := range s.Exposes {
		l.item("  - ", exposureWords(e))
	}
	if len(s.Controls) > 0 {
		l.head("What must really have happened, or the verdict is inconclusive")
		l.prose(controlWords(s.Controls))
	}
	if s.AtLeastOnce {
		l.head("An honest limit")
		l.prose("No coordinator can keep at-most-once and recover across a crash in mid-call without the provider's help. " +
			"So this scenario is at-least-once by nature, and only --gate=strict closes on its double charges.")
	}
	return l.String()
}

func exposureWords(e check.Exposure) string {
	words := e.Invariant
	if inv, ok := check.Lookup(e.Invariant); ok {
		words += ": " + inv.Predicate
	}
	if !e.Surely {
		words += " (not each time)"
	}
	return words
}

func controlWords(controls []history.Control) string {
	var list []string
	for _, c := range controls {
		list = append(list, fmt.Sprintf("%s at least %s", strings.ReplaceAll(c.Name, "fault:", "fault "), times(c.Min)))
	}
	return upper(strings.Join(list, "; ")) + "."
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func stressWords(s check.Stress) string {
	words := map[check.Stress]string{
		check.Overlap:         "two requests with one key are in flight at once",
		check.TwoWorkers:      "two workers share the store",
		check.OwnerDies:       "the worker that holds the key dies",
		check.LeaseOverrun:    "the action outlasts its lease",
		check.StoreDown:       "the store is down",
		check.ReplyLost:       "the store does it, and the reply is lost",
		check.ProviderError:   "the provider fails, and has charged nothing",
		check.ProviderUnknown: "nobody knows whether the provider has charged",
		check.ClientLeaves:    "the client hangs up",
		check.PayloadVaries:   "one key comes with two payloads",
		check.NamesVary:       "keys are odd, or nearly equal",
		check.CompletionLost:  "the result cannot be written, everything else can",
		check.StoreBlip:       "the store is down while the owner runs, and back within its lease",
		check.DownPastLease:   "the store is down from before the charge until after the lease",
		check.Replay:          "a result is read, by many or again",
		check.UnknownFreed:    "an unknown outcome is asked for again within its lease",
		check.ChargeHidden:    "the provider charges and answers with an error",
		check.PatienceEnds:    "a waiter's limit passes while the owner runs",
		check.OwnerFails:      "the owner fails while others wait for it",
		check.MembersMove:     "the same payload comes with its members in another order",
		check.NamesJoin:       "operations and keys come in pairs that are one string when joined",
		check.KeyOverlong:     "a key is longer than keys may be",
		check.WaiterLeaves:    "a duplicate's client hangs up while the first attempt runs",
		check.Oversize:        "a result is larger than the limit",
		check.ClaimTorn:       "the worker dies between two commands of its claim",
		check.Renewed:         "an overtaken owner's heartbeat goes on",
	}[s]
	if words == "" {
		return string(s)
	}
	return string(s) + ": " + words
}

// shown is a timeline per coordinator, of the run that was just made, and because
// of what: the headline is the invariant to tell of, if it is violated.
func (a *app) shown(done *repeats, headline string) string {
	var l lesson
	l.head(fmt.Sprintf("What happened, just now (%s %s, seed %d)", done.worst.Store.Kind, done.worst.Store.Version, done.worst.Seed))
	for _, c := range done.worst.Cells {
		l.head(c.Target + ": " + a.doc(c.Target))
		h := done.histories[results.CellName(c)]
		if c.Status != results.Judged || h == nil {
			l.prose(c.Status + ": " + c.Why)
			continue
		}
		l.WriteByte('\n')
		_ = report.Timeline(&l, h, report.TimelineOptions{Width: width(a.stdout), Color: a.color(a.stdout)}) // a Builder takes all
		if because := because(c, headline); because != "" {
			l.item("because: ", because)
		}
	}
	return l.String()
}

func (a *app) doc(target string) string {
	for _, e := range a.entries() {
		if e.Name == target {
			return e.Doc
		}
	}
	return ""
}

// because is the one sentence of evidence: the headline's, if that is violated.
func because(c results.Cell, headline string) string {
	sentence := ""
	for _, f := range c.Findings {
		if f.Verdict != string(check.Violated) {
			continue
		}
		if sentence == "" || f.Invariant == headline {
			sentence = f.Because
		}
	}
	return sentence
}

// upper makes a sentence of a phrase.
func upper(s string) string {
	r := []rune(s)
	if len(r) < 2 || r[1] == ' ' { // a client's name, e.g. "A sends"
		return s
	}
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}
