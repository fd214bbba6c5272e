package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/scenarios"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	pick  pickFlags
	store storeFlags
	noRun bool
	form  string
}

func (a *app) explainVerb() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain SCENARIO|INVARIANT|COORDINATOR",
		Short: "Teach a scenario, an invariant or a coordinator",
		Long: "explain tells what a scenario does and why it matters, and then shows it: each\n" +
			"coordinator is run on the spot, and drawn as a timeline of two panes. Left is what\n" +
			"your test sees, right what the card sees.",
		Example: "  idemrace explain in-flight\n  idemrace explain burst --impl cache\n  idemrace explain effect/silent-duplicate\n  idemrace explain wait\n  idemrace explain in-flight --format yaml > mine.yaml",
		ValidArgsFunction: func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return completions(typed, a.explainable()), cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("explain takes one name, got %d arguments; see: idemrace list", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.explain(cmd, args[0], f) },
	}
	f.pick.addImpl(a, cmd, impl.Article)
	f.pick.addPace(cmd.Flags())
	f.pick.parallel = 1
	f.store.add(cmd)
	cmd.Flags().BoolVar(&f.noRun, "no-run", false, "tell only, run nothing")
	cmd.Flags().StringVar(&f.form, "format", "", "yaml: print a scenario as `yaml`, as a start for one's own")
	return cmd
}

// explainable is every name of all three kinds.
func (a *app) explainable() []string {
	names := scenarioNames()
	for _, inv := range check.All() {
		names = append(names, inv.ID)
	}
	for _, e := range a.entries() {
		names = append(append(names, e.Name), e.Also...)
	}
	return names
}

func (a *app) explain(cmd *cobra.Command, name string, f explainFlags) error {
	s, ok := scenarios.Lookup(name)
	switch {
	case f.form != "" && f.form != "yaml":
		return usage("--format %s: explain prints text, or a scenario as yaml", f.form)
	case f.form == "yaml" && !ok:
		return usage("--format yaml is for scenarios, and %s is none; see: idemrace list scenarios", name)
	case f.form == "yaml":
		return a.printScenario(s)
	case ok:
		return a.explainScenario(cmd, s, f)
	}
	if inv, ok := check.Lookup(name); ok {
		return a.explainByRun(cmd, a.invariantText(inv), a.violating(inv.ID), f)
	}
	for _, e := range a.entries() {
		if e.Called(name) {
			return a.explainByRun(cmd, a.called(implText(e)), a.breaking(e), f)
		}
	}
	return unknown("name", name, a.explainable(), "idemrace list")
}

// printScenario prints a scenario as a file of the user's own would have it.
func (a *app) printScenario(s scenarios.Scenario) error {
	text, err := scenarios.Encode(s)
	if err != nil {
		return err
	}
	head := "# A scenario of idemrace. Save it beside idemrace.yaml, give it a name of its own, and\n# name the file there under scenarios. Its last step must be settle.\n"
	return a.print(append([]byte(head), text...))
}

// page is the width of prose.
const page = 80

// lesson is a text being written.
type lesson struct{ strings.Builder }

// head writes a heading, with a blank line before it.
func (l *lesson) head(text string) { fmt.Fprintf(l, "\n%s\n", text) }

// prose writes a text, wrapped and indented.
func (l *lesson) prose(text string) { l.item("  ", text) }

// item writes a text behind a mark, wrapped beside it.
func (l *lesson) item(mark, text string) {
	indent := strings.Repeat(" ", len([]rune(mark)))
	line := mark
	for _, word := range strings.Fields(text) {
		if len([]rune(line))+1+len([]rune(word)) > page && line != mark && line != indent {
			fmt.Fprintln(l, strings.TrimRight(line, " "))
			line = indent
		}
		if line != mark && line != indent {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(l, strings.TrimRight(line, " "))
}

func (a *app) invariantText(inv check.Invariant) string {
	var l lesson
	fmt.Fprintf(&l, "%s\n", inv.ID)
	l.prose(inv.Predicate)
	if inv.Why != "" {
		l.head("Why it matters")
		l.prose(inv.Why)
	}
	if shown := exposing(inv.ID); len(shown) > 0 {
		l.head("Scenarios that can show a violation")
		for _, line := range shown {
			l.item("  - ", line)
		}
	}
	l.head("Coordinators that do not keep it")
	none := true
	for _, e := range a.entries() {
		if when := lacking(e, inv.ID); len(when) > 0 {
			none = false
			l.item("  - ", e.Name+", under "+strings.Join(when, ", "))
		}
	}
	if none {
		l.prose("None of those in the catalogue.")
	}
	return l.String()
}

// exposing says which scenarios expose an invariant, and how surely.
func exposing(id string) []string {
	var lines []string
	for _, s := range scenarios.All() {
		for _, e := range s.Exposes {
			if e.Invariant != id {
				continue
			}
			line := s.Name
			if !e.Surely {
				line += " (possibly)"
			}
			lines = append(lines, line)
			break
		}
	}
	return lines
}

// lacking says under which stresses an entry lacks an invariant.
func lacking(e impl.Entry, id string) []string {
	var when []string
	for _, l := range e.Lacks {
		if l.Invariant == id {
			when = append(when, string(l.Stress)+unless(l.Unless))
		}
	}
	return when
}

func unless(n check.Need) string {
	switch n {
	case check.NeedsNothing:
		return ""
	case check.NeedsProviderKey:
		return " (unless the provider honours the key handed on)"
	case check.NeedsNoKeys:
		return " (unless the provider ignores keys)"
	case check.NeedsDurableStore:
		return " (unless the store loses no acknowledged write)"
	case check.NeedsFailClosed:
		return " (unless it fails closed)"
	}
	return " (unless " + string(n) + ")"
}
