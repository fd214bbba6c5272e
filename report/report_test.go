package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/idemrace/idemrace/results"
)

var update = flag.Bool("update", false, "write the golden files anew")

func drawn(t testing.TB, format string, run results.Run, opt Options) string {
	t.Helper()
	f, err := Lookup(format)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := f.Draw(&out, run, opt); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (write it anew with -update):\n%s", path, diff)
	}
}

func TestGolden(t *testing.T) {
	stopped := exampleRun()
	stopped.Interrupted = true
	stopped.Cells = stopped.Cells[:3]
	stopped.Summary = results.Summarise(stopped.Cells)
	tests := []struct {
		file, format string
		run          results.Run
		opt          Options
	}{
		{"table.txt", "table", exampleRun(), Options{}},
		{"table-80.txt", "table", exampleRun(), Options{Width: 80}},
		{"table-30.txt", "table", exampleRun(), Options{Width: 30}},
		{"table-color.txt", "table", exampleRun(), Options{Width: 100, Color: true}},
		{"table-interrupted-verbose.txt", "table", stopped, Options{Verbose: true}},
		{"run.json", "json", exampleRun(), Options{}},
		{"junit.xml", "junit", exampleRun(), Options{}},
		{"matrix.txt", "matrix", exampleRun(), Options{}},
		{"matrix-60.txt", "matrix", exampleRun(), Options{Width: 60}},
		{"matrix-color.txt", "matrix", exampleRun(), Options{Width: 100, Color: true}},
		{"markdown.md", "markdown", exampleRun(), Options{}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) { golden(t, test.file, drawn(t, test.format, test.run, test.opt)) })
	}
}

// The article's table 1, letter by letter.
func TestTheArticlesTable(t *testing.T) {
	run := exampleRun()
	run.Cells = run.Cells[:3]
	want := `in-flight    first attempt still running (provider 300 ms), retry after 50 ms
COORDINATOR  RESPONSES            CHARGES MADE   VERDICT
cache        ch_1, ch_1           ch_1, ch_2     DOUBLE CHARGE (same answers)
wait         ch_1, ch_1           ch_1           one charge
raise        ch_1, in progress    ch_1           one charge
`
	if got := drawn(t, "table", run, Options{}); !strings.HasPrefix(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestVerdictWords(t *testing.T) {
	texts := map[string]string{}
	for _, c := range exampleRun().Cells {
		text, _ := verdict(c)
		texts[c.Scenario+" "+c.Target] = text
	}
	tests := []struct{ reason, cell, want string }{
		{"no answer shows it", "in-flight cache", "DOUBLE CHARGE (same answers)"},
		{"the answers differ, and twice would be far too little", "burst cache", "CHARGED 20 TIMES"},
		{"nobody could do better without the provider", "lease-overrun wait", "DOUBLE CHARGE (same answers, at least once by nature)"},
		{"nothing was proved", "lease-overrun raise", "inconclusive: control overlap not seen"},
		{"loud", "key-length wait", "VIOLATED key/hygiene and 1 more  ← UNEXPECTED"},
		{"a clean record can be a failure", "in-flight-again cache", "one charge  ← UNEXPECTED"},
		{"by name", "restart wait", "not applicable: the store is not ours to restart"},
		{"by name", "restart http", "could not run: dial tcp 127.0.0.1:1: connection refused"},
		{"per operation", "scope wait", "one charge each (2 refs)"},
		{"fail closed", "redis-down-closed fenced", "no charge"},
	}
	for _, test := range tests {
		if got := texts[test.cell]; got != test.want {
			t.Errorf("%s: %q, want %q (%s)", test.cell, got, test.want, test.reason)
		}
	}
}

// A single success agrees with nobody; and what is charged for one ref is not
// told by the answers to another.
func TestDoubleChargeWords(t *testing.T) {
	silent := []results.Finding{{Invariant: "effect/silent-duplicate", Verdict: "violated", Expected: "violated"}}
	other := ok("B", "ch_3")
	other.Ref = "r2"
	thrice := append(two(), results.Charge{ID: "ch_3", Ref: "r1"})
	tests := []struct {
		reason   string
		attempts []results.Attempt
		charges  []results.Charge
		want     string
	}{
		{"two agree", []results.Attempt{ok("A", "ch_1"), ok("B", "ch_1")}, two(), "DOUBLE CHARGE (same answers)"},
		{"one success", []results.Attempt{said("A", "unknown"), ok("B", "ch_2")}, two(), "DOUBLE CHARGE (silent)"},
		{"the other success is another ref's", []results.Attempt{ok("A", "ch_2"), other}, two(), "DOUBLE CHARGE (silent)"},
		{"thrice, and two agree", []results.Attempt{ok("A", "ch_1"), ok("B", "ch_1")}, thrice, "CHARGED 3 TIMES (same answers)"},
		{"a voided charge does not stand", []results.Attempt{ok("A", "ch_1"), ok("B", "ch_1")}, append(two(), results.Charge{ID: "ch_3", Ref: "r1", Voided: true}), "DOUBLE CHARGE (same answers)"},
	}
	for _, test := range tests {
		c := results.Cell{Status: results.Judged, Verdict: "violated", Attempts: test.attempts, Charges: test.charges, Findings: silent}
		if got, _ := judged(c); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}

func TestAnswersAndChargesAreCondensed(t *testing.T) {
	tests := []struct {
		reason             string
		cell               results.Cell
		responses, charges string
	}{
		{"the one that charged comes first, whoever it was", burst("raise", 1), "ch_1, in progress ×19", "ch_1"},
		{"everybody charged", burst("cache", 20), "ch_1 … ch_20", "ch_1 … ch_20"},
		{"in the clients' order, not the answers'", results.Cell{Attempts: []results.Attempt{said("C10", "error"), ok("C2", "ch_1")}}, "ch_1, error", "none"},
		{"up to ten in the clients' order, neighbours as one", results.Cell{Attempts: []results.Attempt{ok("A", "ch_1"), ok("B", "ch_1"),
			said("C", "invalid-key"), said("D", "invalid-key"), said("E", "invalid-key"), ok("F", "ch_2"), ok("G", "ch_1")}},
			"ch_1 ×2, invalid key ×3, ch_2, ch_1", "none"},
		{"ten are still in order", manyAnswers(10), "error, ch_1, error ×8", "none"},
		{"eleven are a burst", manyAnswers(11), "ch_1, error ×10", "none"},
		{"a few are told one by one", results.Cell{Attempts: []results.Attempt{ok("A", "ch_1"), ok("B", "ch_1"), ok("C", "ch_1"), ok("D", "ch_1")}}, "ch_1, ch_1, ch_1, ch_1", "none"},
		{"nobody came", results.Cell{}, "none", "none"},
		{"a refund and a void are told", exampleRun().Cells[13], "ch_1, ch_2", "ch_1, ch_2, ch_3 (voided), ch_4 (refund)"},
	}
	for _, test := range tests {
		if got := responses(test.cell); got != test.responses {
			t.Errorf("%s: responses %q, want %q", test.reason, got, test.responses)
		}
		if got := charges(test.cell); got != test.charges {
			t.Errorf("%s: charges %q, want %q", test.reason, got, test.charges)
		}
	}
}

// manyAnswers: of n clients the second one succeeds.
func manyAnswers(n int) results.Cell {
	c := results.Cell{Attempts: []results.Attempt{said("C1", "error"), ok("C2", "ch_1")}}
	for i := 3; i <= n; i++ {
		c.Attempts = append(c.Attempts, said(fmt.Sprintf("C%d", i), "error"))
	}
	return c
}

func TestReproduceLine(t *testing.T) {
	run := exampleRun()
	run.Store = results.Store{Kind: "url", Address: "redis://127.0.0.1:1/3"}
	got := reproduce(run, results.Cell{Scenario: "in-flight", Target: "it's; rm", Status: results.Judged, Verdict: "violated"}, Options{})
	want := `idemrace run --scenario in-flight --impl 'it'\''s; rm' --store redis://127.0.0.1:1/3 --seed 42`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := reproduce(run, exampleRun().Cells[0], Options{}); got != "" {
		t.Errorf("nothing to reproduce, got %s", got)
	}
}

// TestReproduceLineIsTheProgramsOwn: in every format that has one.
func TestReproduceLineIsTheProgramsOwn(t *testing.T) {
	for _, format := range []string{"table", "markdown", "junit"} {
		got := drawn(t, format, exampleRun(), Options{Command: "go run ./race"})
		if !strings.Contains(got, "go run ./race run --scenario lease-overrun") || strings.Contains(got, "idemrace run --scenario") {
			t.Errorf("%s: %s", format, got)
		}
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestTableNeverExceedsTheWidth(t *testing.T) {
	run := exampleRun()
	rapid.Check(t, func(t *rapid.T) {
		opt := Options{
			Width:   rapid.IntRange(2, 160).Draw(t, "width"),
			Color:   rapid.Bool().Draw(t, "color"),
			Verbose: rapid.Bool().Draw(t, "verbose"),
		}
		r := run
		r.Cells = append([]results.Cell{{Scenario: rapid.String().Draw(t, "scenario"), Title: rapid.String().Draw(t, "title"),
			Target: rapid.String().Draw(t, "target"), Status: results.NotApplicable, Why: rapid.String().Draw(t, "why")}}, run.Cells...)
		var out bytes.Buffer
		if err := drawTable(&out, r, opt); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(escapes.ReplaceAllString(out.String(), "")) {
			if line = strings.TrimSuffix(line, "\n"); wide(line) > opt.Width {
				t.Fatalf("%d columns of %d: %q", wide(line), opt.Width, line)
			}
		}
	})
}

// Narrower than a name and a number beside each other nothing can be read.
func TestMatrixFitsTheWidth(t *testing.T) {
	for width := 30; width < 100; width++ {
		text := drawn(t, "matrix", exampleRun(), Options{Width: width, Color: width%2 == 0})
		for line := range strings.Lines(escapes.ReplaceAllString(text, "")) {
			if line = strings.TrimSuffix(line, "\n"); wide(line) > width {
				t.Errorf("%d columns of %d: %q", wide(line), width, line)
			}
		}
		for i, invariant := range exampleMatrix().Invariants {
			if !strings.Contains(text, fmt.Sprintf("%d %s", i+1, invariant)) {
				t.Errorf("width %d: %s is not in the legend", width, invariant)
			}
		}
	}
}

func TestNothingHarmfulComesThrough(t *testing.T) {
	for _, f := range Formats() {
		got := drawn(t, f.Name, exampleRun(), Options{Verbose: true})
		if strings.Contains(got, "hunter2") {
			t.Errorf("%s shows a password", f.Name)
		}
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x07\x1b") || f.Name != "json" && strings.Contains(got, "\u202e") {
			t.Errorf("%s lets control characters through", f.Name)
		}
	}
}

func TestSavedRunIsDrawnTheSame(t *testing.T) {
	dir := t.TempDir()
	if err := results.Save(dir, exampleRun(), nil); err != nil {
		t.Fatal(err)
	}
	loaded, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Formats() {
		// An invalid byte is first written as an escape, and once read as the sign itself.
		first := strings.ReplaceAll(drawn(t, f.Name, exampleRun(), Options{}), `\ufffd`, "\ufffd")
		if diff := cmp.Diff(first, drawn(t, f.Name, loaded, Options{})); diff != "" {
			t.Errorf("%s: %s", f.Name, diff)
		}
	}
}

func TestJUnitParsesBack(t *testing.T) {
	run := exampleRun()
	var all xmlSuites
	if err := xml.Unmarshal([]byte(drawn(t, "junit", run, Options{})), &all); err != nil {
		t.Fatal(err)
	}
	s := run.Summary
	if all.Tests != s.Cells || all.Failures != s.Unexpected || all.Errors != s.Inconclusive+s.CouldNotRun {
		t.Errorf("%d tests, %d failures, %d errors; the run has %+v", all.Tests, all.Failures, all.Errors, s)
	}
	skipped, cases := 0, map[string]xmlCase{}
	for _, suite := range all.Suites {
		skipped += suite.Skipped
		for _, c := range suite.Cases {
			cases[c.Class+" "+c.Name] = c
		}
	}
	if skipped != s.NotApplicable {
		t.Errorf("%d skipped, want %d", skipped, s.NotApplicable)
	}
	if c := cases["idemrace.in-flight cache"]; c.Failure != nil || !strings.Contains(c.SystemOut, "ch_2 stands beside it") {
		t.Errorf("an expected violation passes, with its story: %+v", c)
	}
	if f := cases["idemrace.key-length wait"].Failure; f == nil || !strings.Contains(f.Text, "A key of 255 characters was refused.") || !strings.Contains(f.Text, "--seed 42") {
		t.Errorf("a failure says why and how to see it again: %+v", f)
	}
	if e := cases["idemrace.lease-overrun raise"].Error; e == nil || e.Type != "inconclusive" {
		t.Errorf("inconclusive is an error: %+v", e)
	}
}

func TestMarkdownTablesHaveFourColumns(t *testing.T) {
	unescaped := regexp.MustCompile(`(^|[^\\])\|`)
	for line := range strings.Lines(drawn(t, "markdown", exampleRun(), Options{})) {
		if strings.HasPrefix(line, "|") && len(unescaped.FindAllString(line, -1)) != 5 {
			t.Errorf("not four columns: %s", line)
		}
		if strings.Contains(line, "<script>") {
			t.Errorf("HTML: %s", line)
		}
	}
}

func TestLookup(t *testing.T) {
	if f, err := Lookup(""); err != nil || f.Name != "table" {
		t.Errorf("the default is the table: %v, %v", f.Name, err)
	}
	_, err := Lookup("jsn")
	if !errors.Is(err, ErrUnknownFormat) || !strings.Contains(err.Error(), "use one of table, json, junit, markdown, github, matrix") {
		t.Errorf("got %v", err)
	}
}

func TestMatrixOfNoSelftest(t *testing.T) {
	run := exampleRun()
	run.Selftest = nil
	if err := drawMatrix(&bytes.Buffer{}, run, Options{}); !errors.Is(err, ErrNoSelftest) {
		t.Errorf("got %v", err)
	}
}

// What is not full is never rounded up to 100 %.
func TestFigure(t *testing.T) {
	for _, test := range []struct {
		reason   string
		have, of int
		want     string
	}{
		{"full", 610, 610, "610 of 610 lacks caught, 100 %"},
		{"nearly full", 9999, 10000, "9999 of 10000 lacks caught, 99.9 %"},
		{"half", 1, 2, "1 of 2 lacks caught, 50 %"},
		{"no division by nothing", 0, 0, "0 of 0 lacks caught, nothing to find"},
	} {
		if got := figure(results.Figure{Have: test.have, Of: test.of}, "lacks", "caught"); got != test.want {
			t.Errorf("%s: %s", test.reason, got)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorsAreTold(t *testing.T) {
	for _, f := range Formats() {
		if err := f.Draw(full{}, exampleRun(), Options{}); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}
