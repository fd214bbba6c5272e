// Package report draws a run: one file per format, all from the same document,
// so that a saved run can be drawn again in any of them.
//
// It refuses to judge, to count anything that the document does not hold, and to
// know a terminal: colour and width are handed in.
package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/idemrace/idemrace/results"
)

// Options of a drawing; the zero value is plain text of any width.
type Options struct {
	Color   bool // terminal colours
	Width   int  // characters a line may have; 0 means any
	Verbose bool // also what held, and every attempt
	// Command is how the program is called, for lines to be pasted; "" is idemrace.
	Command string
}

// Format is a way to draw a run.
type Format struct {
	Name string
	Doc  string // one line, for list and help
	Draw func(w io.Writer, run results.Run, opt Options) error
}

// ErrUnknownFormat: no format has that name.
var ErrUnknownFormat = errors.New("unknown format")

// Formats is the catalogue; the first is the default.
func Formats() []Format {
	return []Format{
		{"table", "for people at a terminal: a table per scenario, and why each violation is one", drawTable},
		{"json", "the run document, which every other format is drawn from", drawJSON},
		{"junit", "JUnit XML for CI: a suite per scenario, a case per target", drawJUnit},
		{"markdown", "for pull requests and GITHUB_STEP_SUMMARY", drawMarkdown},
		{"github", "annotations of a GitHub workflow, at most ten", drawGitHub},
		{"matrix", "of a selftest: coordinators by invariants, and what was missed or falsely alarmed", drawMatrix},
	}
}

// Lookup finds a format; "" is the default.
func Lookup(name string) (Format, error) {
	formats := Formats()
	if name == "" {
		return formats[0], nil
	}
	var names []string
	for _, f := range formats {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("%w %q: use one of %s", ErrUnknownFormat, name, strings.Join(names, ", "))
}

// block is what belongs together in a drawing: the cells of one scenario.
type block struct {
	scenario, title string
	cells           []results.Cell
}

// blocks keeps the document's order, by each scenario's first cell.
func blocks(run results.Run) []block {
	var all []block
	at := map[string]int{}
	for _, c := range run.Cells {
		i, known := at[c.Scenario]
		if !known {
			i = len(all)
			at[c.Scenario] = i
			all = append(all, block{scenario: c.Scenario})
		}
		all[i].cells = append(all[i].cells, c)
		if all[i].title == "" {
			all[i].title = c.Title
		}
	}
	return all
}
