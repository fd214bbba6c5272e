package idemrace

import (
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
)

// rooms is the table of docs/design.md: which package stands on which row. The
// document is the law; it is read, not copied.
type rooms [][]string

// row returns the row of a room, counted from 1, or 0 if the table lacks it.
func (r rooms) row(room string) int {
	for i, row := range r {
		for _, pattern := range row {
			if ok, _ := path.Match(pattern, room); ok {
				return i + 1
			}
		}
	}
	return 0
}

// breach says what is wrong with one room importing another, and what to do; ""
// if nothing is.
func (r rooms) breach(importer, imported string) string {
	from, to := r.row(importer), r.row(imported)
	switch {
	case from == 0:
		return fmt.Sprintf("package %s is in no row of the table in docs/design.md; give it a row there, below all that it imports", importer)
	case to == 0:
		return fmt.Sprintf("%s (row %d) imports %s, which is in no row of the table in docs/design.md; give it a row there", importer, from, imported)
	case from == to:
		return fmt.Sprintf("%s imports %s, and both stand on row %d, whose rooms do not know each other; move the shared part to an earlier row", importer, imported, from)
	case from < to:
		return fmt.Sprintf("%s (row %d) imports %s (row %d), but imports go to earlier rows only; turn the import round, or pass a value in from above", importer, from, imported, to)
	}
	return ""
}

// readRooms takes the table from the document: the first fenced block after the
// heading, one row a line, led by its number.
func readRooms(t *testing.T) rooms {
	t.Helper()
	text, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatalf("the rooms are in docs/design.md: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## Rooms\n")
	_, rest, _ = strings.Cut(rest, "\n```\n")
	block, _, ok := strings.Cut(rest, "\n```")
	if !ok {
		t.Fatal(`docs/design.md needs a fenced table under "## Rooms"`)
	}
	var table rooms
	for i, line := range strings.Split(block, "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != fmt.Sprint(i+1) {
			t.Fatalf("docs/design.md, rooms: row %d reads %q; want its number and its packages", i+1, line)
		}
		var row []string
		for _, field := range fields[1:] {
			row = append(row, unfold(field)...)
		}
		table = append(table, row)
	}
	return table
}

// unfold turns impl/{cache,wait} into impl/cache and impl/wait.
func unfold(pattern string) []string {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	inside, after, _ := strings.Cut(rest, "}")
	var all []string
	for _, word := range strings.Split(inside, ",") {
		all = append(all, before+word+after)
	}
	return all
}

func TestImportsGoToEarlierRows(t *testing.T) {
	table := readRooms(t)
	homeless := map[string]bool{}
	for _, s := range sources(t) {
		if s.room == "." {
			if len(s.file.Imports) > 0 {
				t.Errorf("%s imports something; the root holds only the rules, so move the code into a room", s.path)
			}
			continue
		}
		if table.row(s.room) == 0 {
			if !homeless[s.room] { // said once, whatever it imports
				t.Error(table.breach(s.room, ""))
			}
			homeless[s.room] = true
			continue
		}
		for _, spec := range s.file.Imports {
			imported, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			if !ours {
				continue
			}
			if why := table.breach(s.room, imported); why != "" {
				t.Errorf("%s: %s", s.at(spec), why)
			}
		}
	}
}

func TestABadImportIsABreach(t *testing.T) {
	table := readRooms(t)
	cases := []struct {
		importer, imported string
		want               string // part of the sentence; "" if allowed
		reason             string
	}{
		{"store", "idempotency", "", "an earlier row"},
		{"cli", "impl", "", "rows may be skipped"},
		{"impl/zoo/unscoped", "store", "", "any folder of the zoo is a room"},
		{"idempotency", "store", "idempotency (row 1) imports store (row 2)", "the contract knows nobody"},
		{"check", "runner", "check (row 4) imports runner (row 7)", "the judge does not know who calls it"},
		{"store", "fakeprovider", "both stand on row 2", "neighbours do not know each other"},
		{"impl/zoo/unscoped", "impl/plain", "", "what members of the zoo share"},
		{"impl/plain", "impl/reservation", "both stand on row 3", "the cores do not know each other"},
		{"impl/wait", "impl/raise", "both stand on row 4", "braces unfold to one row"},
		{"impl/wait", "impl/zoo/unscoped", "both stand on row 4", "a wildcard is on its row too"},
		{"util", "store", "package util is in no row", "a room needs a row"},
		{"runner", "util", "imports util, which is in no row", "what is imported needs one too"},
		{"impl/zoo/a/b", "store", "package impl/zoo/a/b is in no row", "a wildcard is one folder deep"},
	}
	for _, c := range cases {
		got := table.breach(c.importer, c.imported)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s (%s):\n got %q\nwant %q", c.importer, c.imported, c.reason, got, c.want)
		}
	}
}

// The contract is what others build on: it brings them one library and no more.
func TestTheContractBringsOneLibrary(t *testing.T) {
	const jcs = "github.com/gowebpki/jcs"
	for _, s := range sources(t) {
		if s.room != "idempotency" {
			continue
		}
		for _, imported := range s.imports() {
			first, _, _ := strings.Cut(imported, "/")
			if strings.Contains(first, ".") && imported != jcs {
				t.Errorf("%s imports %s; idempotency has the standard library and %s only", s.path, imported, jcs)
			}
		}
	}
}
