package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/idemrace/idemrace/results"
)

// drawMarkdown draws GitHub tables, one per scenario. A cell that is not as
// expected is told in bold.
func drawMarkdown(w io.Writer, run results.Run, opt Options) error {
	run = results.Redact(run)
	var out strings.Builder
	out.WriteString("## idemrace\n\n")
	if run.Interrupted {
		fmt.Fprintf(&out, "**%s**\n\n", interrupted)
	}
	fmt.Fprintf(&out, "%s\n\n", escaped(summary(run)))
	for _, b := range blocks(applicable(run)) {
		section(&out, run, b, opt)
	}
	observedMarkdown(&out, run)
	fmt.Fprintf(&out, "Store: %s. Seed: %d.\n", escaped(served(run)), run.Seed)
	_, err := io.WriteString(w, out.String())
	return err
}

func section(out *strings.Builder, run results.Run, b block, opt Options) {
	fmt.Fprintf(out, "### %s\n\n", escaped(b.scenario))
	if b.title != "" {
		fmt.Fprintf(out, "%s\n\n", escaped(b.title))
	}
	fmt.Fprintf(out, "| %s | responses | charges made | verdict |\n| --- | --- | --- | --- |\n", strings.ToLower(headingsOf(b)[0]))
	for _, c := range b.cells {
		texts, _ := row(c)
		for i := range texts {
			texts[i] = escaped(texts[i])
		}
		if offExpectation(c) {
			texts[3] = "**" + texts[3] + "**"
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(texts[:], " | "))
	}
	out.WriteByte('\n')
	var notes []string
	for _, c := range b.cells {
		for _, line := range reasons(c, opt.Verbose) {
			notes = append(notes, "- "+escaped(line))
		}
		if again := reproduce(run, c, opt); again != "" {
			notes = append(notes, "- reproduce: "+code(again))
		}
	}
	if len(notes) > 0 {
		out.WriteString(strings.Join(notes, "\n") + "\n\n")
	}
}

// escaped takes the meaning from every sign that has one: in a table, in running
// text, or as HTML. Underscores inside words have none on GitHub.
func escaped(text string) string {
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "~", `\~`, "#", `\#`,
		"&", "&amp;", "<", "&lt;", ">", "&gt;",
	).Replace(clean(text))
}

// code is a code span; its fence is longer than any run of backticks inside.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
