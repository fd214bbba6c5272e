package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/idemrace/idemrace/results"
)

// ErrNoSelftest: the run is not one of selftest, so there is no matrix to draw.
var ErrNoSelftest = errors.New("the run is no selftest: idemrace selftest makes one")

// What a matrix's cell says besides the number of the scenario that caught it.
const (
	quiet  = "·"
	missed = "MISS" // lacked under some stress, and no scenario showed it
	alarm  = "!"    // violated somewhere, and not lacked there
)

// drawMatrix draws coordinators by invariants; then what was missed and what was
// falsely alarmed, one per line, and the two figures.
func drawMatrix(w io.Writer, run results.Run, opt Options) error {
	run = results.Redact(run)
	if run.Selftest == nil {
		return ErrNoSelftest
	}
	var out bytes.Buffer
	m := newMatrix(run)
	if err := m.draw(&out, opt); err != nil {
		return err
	}
	m.legend(&out, opt)
	m.shortfalls(&out, opt)
	say(&out, "recall:    "+figure(m.Recall, "lacks", "caught"), opt)
	say(&out, "precision: "+figure(m.Precision, "other verdicts", "sound"), opt)
	if run.Interrupted {
		say(&out, interrupted, opt)
	}
	say(&out, "store: "+served(run), opt)
	say(&out, summary(run), opt)
	_, err := w.Write(out.Bytes())
	return err
}

// matrix is a selftest's, with the scenarios that it names numbered.
type matrix struct {
	*results.Matrix
	scenarios []string // in the run's order; the number is the position from 1
	bad       map[[2]string]string
}

func newMatrix(run results.Run) *matrix {
	m := &matrix{Matrix: run.Selftest, bad: map[[2]string]string{}}
	for _, b := range blocks(run) {
		if m.first(b.scenario) {
			m.scenarios = append(m.scenarios, b.scenario)
		}
	}
	for _, x := range m.Missed {
		m.bad[[2]string{x.Target, x.Invariant}] = missed
	}
	for _, x := range m.False {
		m.bad[[2]string{x.Target, x.Invariant}] = alarm
	}
	return m
}

// first: some coordinator was first caught in this scenario.
func (m *matrix) first(scenario string) bool {
	return slices.ContainsFunc(m.Rows, func(r results.MatrixRow) bool {
		for _, c := range r.Caught {
			if c.Scenario == scenario {
				return true
			}
		}
		return false
	})
}

// cell is what stands in it, and how good that is.
func (m *matrix) cell(r results.MatrixRow, invariant string) (string, tone) {
	c := r.Caught[invariant]
	number := ""
	if c.Scenario != "" {
		number = strconv.Itoa(slices.Index(m.scenarios, c.Scenario) + 1)
	}
	switch m.bad[[2]string{r.Target, invariant}] {
	case missed:
		return missed, bad
	case alarm:
		return number + alarm, bad
	}
	if number == "" {
		return quiet, ""
	}
	return number, good
}

// draw draws the table, in as many bands of columns as the width asks for.
func (m *matrix) draw(out *bytes.Buffer, opt Options) error {
	names := wide(headings[0])
	for _, r := range m.Rows {
		names = max(names, wide(clean(r.Target)))
	}
	atOnce := len(m.Invariants)
	if opt.Width > 0 {
		atOnce = max(1, (opt.Width-names)/(gap+wide(missed)))
	}
	for from := 0; from < len(m.Invariants) || from == 0; from += max(1, atOnce) {
		if err := m.band(out, from, min(from+atOnce, len(m.Invariants)), opt); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	return nil
}

// band draws the columns from … to-1.
func (m *matrix) band(out *bytes.Buffer, from, to int, opt Options) error {
	var drawn bytes.Buffer
	t := plainTable(&drawn)
	header := []any{headings[0]}
	for i := from; i < to; i++ {
		header = append(header, right(strconv.Itoa(i+1)))
	}
	t.Header(header...)
	for _, r := range m.Rows {
		row := []any{clean(r.Target)}
		for _, invariant := range m.Invariants[from:to] {
			text, sound := m.cell(r, invariant)
			row = append(row, painted(right(text), text, sound, opt))
		}
		if err := t.Append(row...); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	trimmed(out, &drawn)
	return nil
}

// right pads a text to a column's width, with the gap before it.
func right(text string) string {
	return strings.Repeat(" ", max(gap, gap+wide(missed)-wide(text))) + text
}

// painted colours the text within its padding.
func painted(padded, text string, sound tone, opt Options) string {
	if !opt.Color || sound == "" {
		return padded
	}
	return strings.TrimSuffix(padded, text) + sound.paint(text)
}

// legend says what the numbers are.
func (m *matrix) legend(out *bytes.Buffer, opt Options) {
	if len(m.Invariants) == 0 {
		return
	}
	numbered(out, "columns, invariants:", m.Invariants, opt)
	numbered(out, "cells, the scenario that caught it first:", m.scenarios, opt)
	say(out, quiet+" kept; "+missed+" lacked, and no scenario showed it; "+alarm+" violated where it is not lacked", opt)
	out.WriteByte('\n')
}

// legendWidth is how wide a legend is where there is no edge: it is to be read.
const legendWidth = 100

// numbered lists names behind a heading; a number stays beside its name.
func numbered(out *bytes.Buffer, heading string, names []string, opt Options) {
	if len(names) == 0 {
		return
	}
	if opt.Width <= 0 {
		opt.Width = legendWidth
	}
	say(out, heading, opt)
	line := ""
	for i, name := range names {
		item := fmt.Sprintf("  %d %s", i+1, clean(name))
		if line != "" && wide(line+item) > opt.Width {
			say(out, line, opt)
			line = ""
		}
		line += item
	}
	say(out, line, opt)
}

// shortfalls are what keeps the figures from being full.
func (m *matrix) shortfalls(out *bytes.Buffer, opt Options) {
	for _, x := range m.Missed {
		say(out, fmt.Sprintf("MISSED %s: %s under %s, and no scenario showed it", clean(x.Target), clean(x.Invariant), clean(x.Stress)), opt)
	}
	for _, x := range m.False {
		word := "FALSE ALARM"
		if x.Invariant == "" {
			word = "OPEN"
		}
		line := fmt.Sprintf("%s %s in %s: %s", word, clean(x.Target), clean(x.Scenario), clean(strings.TrimSpace(x.Invariant+" "+x.Verdict)))
		say(out, because(line, x.Because), opt)
	}
	if len(m.Missed)+len(m.False) > 0 {
		out.WriteByte('\n')
	}
}

// figure is e.g. "610 of 610 lacks caught, 100 %". What is not full is never
// rounded up to it.
func figure(f results.Figure, things, word string) string {
	percent := "nothing to find"
	if f.Of > 0 {
		tenths := f.Have * 1000 / f.Of
		percent = strings.TrimSuffix(fmt.Sprintf("%d.%d", tenths/10, tenths%10), ".0") + " %"
	}
	return fmt.Sprintf("%d of %d %s %s, %s", f.Have, f.Of, things, word, percent)
}
