package report

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// wide is how many columns of a terminal a text takes; it is the table
// library's own measure, so that both agree.
func wide(text string) int { return twwidth.Width(text) }

// wrap breaks text at spaces into lines of at most width columns; later lines
// begin with indent. A word that is too long for a line is broken. 0 is any width.
func wrap(text string, width int, indent string) []string {
	if width <= 0 || wide(text) <= width {
		return []string{text}
	}
	if wide(indent) > width/2 {
		indent = ""
	}
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	if wide(lead) > width/2 {
		lead = ""
	}
	var lines []string
	line := lead
	begun := false
	for _, word := range strings.Fields(text) {
		gap := ""
		if begun {
			gap = " "
		}
		if begun && wide(line+gap+word) > width {
			lines = append(lines, line)
			line, gap = indent, ""
		}
		for wide(line+gap+word) > width {
			head := fit(word, width-wide(line))
			lines = append(lines, line+head)
			word, line = word[len(head):], indent
		}
		line, begun = line+gap+word, true
	}
	return append(lines, line)
}

// fit is the longest beginning of word that takes at most width columns, but at
// least one sign.
func fit(word string, width int) string {
	end := 0
	for i, r := range word {
		next := i + len(string(r))
		if end > 0 && wide(word[:next]) > width {
			break
		}
		end = next
	}
	return word[:end]
}
