package explore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// narrowest is the smallest column in which words can still be read.
const narrowest = 12

// Lanes is the story as swim lanes, no wider than width: a column for each client,
// one for the store and one for the provider. Where that is too narrow it is a list.
func (s Story) Lanes(width int) string {
	heads := append(append([]string{}, s.Clients...), "store", provider)
	column := (width-4)/len(heads) - 2
	if column < narrowest {
		return s.list()
	}
	column = min(column, 30)
	var b strings.Builder
	row := func(n string, cells []string) {
		wrapped, height := make([][]string, len(cells)), 1
		for i, c := range cells {
			wrapped[i] = wrap(c, column)
			height = max(height, len(wrapped[i]))
		}
		for h := range height {
			line := fmt.Sprintf("%3s", n)
			n = ""
			for _, cell := range wrapped {
				text := ""
				if h < len(cell) {
					text = cell[h]
				}
				line += "  " + text + strings.Repeat(" ", column-utf8.RuneCountInString(text))
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	row("", heads)
	rule := make([]string, len(heads))
	for i := range rule {
		rule[i] = strings.Repeat("─", column)
	}
	row("", rule)
	for i, l := range s.Lines {
		row(fmt.Sprint(i+1), s.cells(l, len(heads)))
	}
	return b.String()
}

// cells puts a line's parts into the columns.
func (s Story) cells(l Line, columns int) []string {
	cells := make([]string, columns)
	at := columns - 2 // the clock's moments happen to the store
	for i, c := range s.Clients {
		if c == l.Step.Who {
			at = i
		}
	}
	text := l.Does
	if l.Sees != "" {
		text += ": " + l.Sees
	}
	switch {
	case l.Step.Who == provider:
		at = columns - 1
		text = ""
	case l.Step.Who == "clock":
		text = "⏱ " + text
	}
	if l.Answer != "" {
		text += " ⇒ " + l.Answer
	}
	cells[columns-2], cells[columns-1] = l.Store, l.Provider
	cells[at] = strings.Join(strings.Fields(text+" "+cells[at]), " ")
	return cells
}

// list is the story with a line for each step.
func (s Story) list() string {
	var b strings.Builder
	for i, l := range s.Lines {
		fmt.Fprintf(&b, "%3d  %s %s", i+1, l.Step.Who, l.Does)
		for _, more := range []string{l.Sees, l.Provider, l.Answer} {
			if more != "" {
				b.WriteString("; " + more)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wrap breaks text at spaces; a longer word is cut.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for utf8.RuneCountInString(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Mermaid is the story as a sequence diagram.
func (s Story) Mermaid() string {
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	for _, c := range s.Clients {
		fmt.Fprintf(&b, "    participant %s\n", c)
	}
	b.WriteString("    participant store\n    participant provider\n")
	for _, l := range s.Lines {
		l.mermaid(&b)
	}
	if s.Because != "" {
		fmt.Fprintf(&b, "    Note over %s,provider: %s\n", s.Clients[0], plainWords(s.Because))
	}
	return b.String()
}

func (l Line) mermaid(b *strings.Builder) {
	who, does := l.Step.Who, plainWords(l.Does)
	switch {
	case who == "clock":
		fmt.Fprintf(b, "    Note over store: %s\n", does)
	case who == provider:
		fmt.Fprintf(b, "    Note over provider: %s\n", plainWords(l.Provider))
	case l.Step.own():
		fmt.Fprintf(b, "    Note over %s: %s\n", who, plainWords(l.Step.How))
	case l.Step.What == Arrive.String():
		fmt.Fprintf(b, "    %s->>provider: %s\n", who, plainWords(l.Provider))
	case l.Step.What == Commit.String():
		fmt.Fprintf(b, "    provider-->>%s: %s\n", who, plainWords(l.Provider+" "+l.Step.How))
	case l.Sees != "":
		fmt.Fprintf(b, "    %s->>store: %s\n    store-->>%s: %s\n", who, does, who, plainWords(l.Sees))
	default:
		fmt.Fprintf(b, "    Note over %s: %s\n", who, does)
	}
	if l.Answer != "" {
		fmt.Fprintf(b, "    Note over %s: told %s\n", who, plainWords(l.Answer))
	}
}

// plainWords takes out what Mermaid reads as its own.
func plainWords(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer(";", ",", "#", "no. ", "\"", "'").Replace(s)), " ")
}
