package results

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
)

// Encode writes the document, indented, in one stable form: lists are never
// null, and no URL keeps its user and password.
func Encode(w io.Writer, run Run) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // it is read by eye, too
	enc.SetIndent("", "  ")
	if err := enc.Encode(Redact(tidy(run))); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// tidy gives every list a value. The caller's cells stay as they are.
func tidy(run Run) Run {
	run.Cells = append([]Cell{}, run.Cells...)
	for i := range run.Cells {
		c := &run.Cells[i]
		c.Attempts = append([]Attempt{}, c.Attempts...)
		c.Charges = append([]Charge{}, c.Charges...)
		c.Findings = append([]Finding{}, c.Findings...)
		c.Controls = append([]Control{}, c.Controls...)
	}
	return run
}

// Redact takes the user and password out of every URL in the document's free
// text: a store's or a service's error may quote the address it was given.
func Redact(run Run) Run {
	run.Store.Address = withoutLogin(run.Store.Address)
	run.Cells = slices.Clone(run.Cells)
	for i := range run.Cells {
		c := &run.Cells[i]
		c.Why = withoutLogin(c.Why)
		c.Attempts, c.Findings = slices.Clone(c.Attempts), slices.Clone(c.Findings)
		for j := range c.Attempts {
			c.Attempts[j].Detail = withoutLogin(c.Attempts[j].Detail)
		}
		for j := range c.Findings {
			c.Findings[j].Because = withoutLogin(c.Findings[j].Because)
		}
	}
	return run
}

// withoutLogin is greedy up to the last @ before white space or a quote: an @ or
// a slash in a password is no reason to show the half behind it.
func withoutLogin(text string) string {
	return regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s"']*@`).ReplaceAllString(text, "$1")
}
