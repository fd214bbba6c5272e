package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/idemrace/idemrace/results"
)

// how is the heading of what was observed and is no verdict.
const how = "how your service answers"

// observed draws what services were seen to do, topic by topic.
func observed(out *bytes.Buffer, run results.Run, opt Options) {
	target, column := "", 0
	for _, o := range run.Observed {
		column = max(column, wide(clean(o.Topic)))
	}
	for _, o := range run.Observed {
		if o.Target != target {
			target = o.Target
			say(out, how+" ("+clean(target)+"; observed, no verdict)", opt)
		}
		topic := clean(o.Topic)
		lead := "  " + topic + strings.Repeat(" ", column-wide(topic)+gap)
		for _, line := range wrap(clean(o.Seen), max(0, opt.Width-wide(lead)), "") {
			out.WriteString(lead + line + "\n")
			lead = strings.Repeat(" ", wide(lead))
		}
	}
	if target != "" {
		out.WriteByte('\n')
	}
}

// unapplied lists by name what a service could not be asked.
func unapplied(out *bytes.Buffer, run results.Run, opt Options) {
	for _, c := range run.Cells {
		if aside(c) {
			say(out, fmt.Sprintf("not applicable to %s: %s: %s", clean(c.Target), clean(c.Scenario), clean(c.Why)), opt)
		}
	}
	if len(run.LeftOut) > 0 {
		say(out, "left out, the budget had no time for them: "+clean(strings.Join(run.LeftOut, ", ")), opt)
	}
}

// aside: a service's cell that is told in one line at the end.
func aside(c results.Cell) bool { return c.Service && c.Status == results.NotApplicable }

// applicable leaves out what is told at the end.
func applicable(run results.Run) results.Run {
	run.Cells = slices.DeleteFunc(slices.Clone(run.Cells), aside)
	return run
}

// observedMarkdown is the same as a table, with what was not applicable folded away.
func observedMarkdown(out *strings.Builder, run results.Run) {
	target := ""
	for _, o := range run.Observed {
		if o.Target != target {
			target = o.Target
			fmt.Fprintf(out, "\n### %s: %s\n\nObserved; no verdict.\n\n| topic | seen |\n| --- | --- |\n", how, escaped(target))
		}
		fmt.Fprintf(out, "| %s | %s |\n", escaped(o.Topic), escaped(o.Seen))
	}
	var notes []string
	for _, c := range run.Cells {
		if aside(c) {
			notes = append(notes, fmt.Sprintf("- %s, %s: %s", escaped(c.Target), escaped(c.Scenario), escaped(c.Why)))
		}
	}
	if len(notes) > 0 {
		fmt.Fprintf(out, "\n<details><summary>%s</summary>\n\n%s\n\n</details>\n\n", count(len(notes), "cell")+" not applicable", strings.Join(notes, "\n"))
	}
}
