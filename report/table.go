package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/idemrace/idemrace/results"
)

const (
	// gap is the space between two columns.
	gap = 2
	// narrow is the width below which four columns cannot be read: their headings
	// alone take 11 + 9 + 7 + 7 and three gaps.
	narrow = 40
)

var headings = [4]string{"COORDINATOR", "RESPONSES", "CHARGES MADE", "VERDICT"}

// headingsOf a block: a service is no coordinator.
func headingsOf(b block) [4]string {
	of := headings
	if len(b.cells) > 0 && b.cells[0].Service {
		of[0] = "TARGET"
	}
	return of
}

// drawTable draws a table per scenario, with the reasons under it, and at the end
// which store served and the summary.
func drawTable(w io.Writer, run results.Run, opt Options) error {
	run = results.Redact(run)
	var out bytes.Buffer
	for _, b := range blocks(applicable(run)) {
		if err := drawBlock(&out, run, b, opt); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	if run.Interrupted {
		say(&out, interrupted, opt)
	}
	observed(&out, run, opt)
	unapplied(&out, run, opt)
	say(&out, "store: "+served(run), opt)
	say(&out, summary(run), opt)
	_, err := w.Write(out.Bytes())
	return err
}

// say writes one wrapped line; what goes on is indented.
func say(out *bytes.Buffer, text string, opt Options) {
	for _, line := range wrap(text, opt.Width, "    ") {
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func drawBlock(out *bytes.Buffer, run results.Run, b block, opt Options) error {
	widths := columns(b.cells, opt.Width)
	heading(out, b, widths[0]+gap, opt)
	draw := grid
	if opt.Width > 0 && opt.Width < narrow {
		draw = stack
	}
	if err := draw(out, b, widths, opt); err != nil {
		return err
	}
	for _, c := range b.cells {
		for _, line := range reasons(c, opt.Verbose) {
			say(out, "  "+line, opt)
		}
		if opt.Verbose {
			attempts(out, c, opt)
		}
		if line := reproduce(run, c, opt); line != "" {
			say(out, "  reproduce: "+line, opt)
		}
	}
	return nil
}

// heading is the scenario's name, and its title in the second column.
func heading(out *bytes.Buffer, b block, column int, opt Options) {
	name, title := clean(b.scenario), clean(b.title)
	column = max(column, wide(name)+gap)
	if title == "" || opt.Width > 0 && opt.Width-column < narrow/2 {
		say(out, name+" "+title, opt)
		return
	}
	lead := name + strings.Repeat(" ", column-wide(name))
	for _, line := range wrap(title, max(0, opt.Width-column), "") {
		out.WriteString(lead + line + "\n")
		lead = strings.Repeat(" ", column)
	}
}

// attempts are one cell's in the document's order, and its store commands.
func attempts(out *bytes.Buffer, c results.Cell, opt Options) {
	for _, a := range c.Attempts {
		line := fmt.Sprintf("  %s: %s sent at %.1f ms, answered after %.1f ms: %s", clean(c.Target), clean(a.Client), a.SentMS, a.TookMS, answer(a))
		if a.Source != "" {
			line += " (" + clean(a.Source) + ")"
		}
		say(out, because(line, a.Detail), opt)
	}
	if c.Status == results.Judged {
		say(out, fmt.Sprintf("  %s: %s", clean(c.Target), count(c.StoreCommands, "store command")), opt)
	}
}

// row is a cell in the four columns.
func row(c results.Cell) ([4]string, tone) {
	text, sound := verdict(c)
	if c.Status != results.Judged && len(c.Attempts) == 0 {
		return [4]string{clean(c.Target), "", "", text}, sound
	}
	return [4]string{clean(c.Target), responses(c), charges(c), text}, sound
}

// columns are as wide as their widest text; where the row is too wide, the widest
// column gives way first, down to the longest word of its heading.
func columns(cells []results.Cell, width int) [4]int {
	widths := [4]int{11, 19, 13, 7} // at least as in the article's table, so that most blocks agree
	for _, c := range cells {
		texts, _ := row(c)
		for i, text := range texts {
			widths[i] = max(widths[i], wide(text))
		}
	}
	least := [4]int{11, 9, 7, 7}
	for width >= narrow && widths[0]+widths[1]+widths[2]+widths[3]+3*gap > width {
		widest := -1
		for i := range widths {
			if widths[i] > least[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		widths[widest]--
	}
	return widths
}

// grid draws the cells as a table without lines.
func grid(out *bytes.Buffer, b block, widths [4]int, opt Options) error {
	var drawn bytes.Buffer
	t := plainTable(&drawn)
	t.Header(lines(headingsOf(b), widths, good, Options{})...)
	for _, c := range b.cells {
		texts, sound := row(c)
		if err := t.Append(lines(texts, widths, sound, opt)...); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	trimmed(out, &drawn)
	return nil
}

// plainTable is a table without lines, whose cells are padded already.
func plainTable(w io.Writer) *tablewriter.Table {
	return tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.Off, ShowTop: tw.Off, ShowBottom: tw.Off},
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAlignment(tw.AlignLeft), tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithPadding(tw.PaddingNone), tablewriter.WithTrimSpace(tw.Off),
	)
}

// trimmed copies a drawing without what is blank at its lines' ends.
func trimmed(out, drawn *bytes.Buffer) {
	for line := range strings.Lines(drawn.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// lines wraps each text to its column and pads it to the column's width and gap,
// so that the library has nothing left to decide.
func lines(texts [4]string, widths [4]int, sound tone, opt Options) []any {
	var cells []any
	for i, text := range texts {
		wrapped := wrap(text, widths[i], "")
		for j, line := range wrapped {
			pad := ""
			if i < 3 {
				pad = strings.Repeat(" ", widths[i]+gap-wide(line))
			} else if opt.Color {
				line = sound.paint(line)
			}
			wrapped[j] = line + pad
		}
		cells = append(cells, strings.Join(wrapped, "\n"))
	}
	return cells
}

// stack draws the cells under each other, for windows too narrow for a table.
func stack(out *bytes.Buffer, b block, _ [4]int, opt Options) error {
	for _, c := range b.cells {
		texts, sound := row(c)
		say(out, texts[0], opt)
		for i, text := range texts[1:] {
			if text == "" {
				continue
			}
			for _, line := range wrap("  "+strings.ToLower(headings[i+1])+": "+text, opt.Width, "    ") {
				if i == 2 && opt.Color {
					line = sound.paint(line)
				}
				out.WriteString(line + "\n")
			}
		}
	}
	return nil
}

// paint colours a text.
func (t tone) paint(text string) string { return "\x1b[" + string(t) + "m" + text + "\x1b[0m" }
