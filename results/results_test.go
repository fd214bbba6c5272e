package results

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/idemrace/idemrace/history"
)

func example() Run {
	cells := []Cell{
		{Scenario: "in-flight", Target: "cache", Status: Judged, Verdict: "violated", Expected: "violated", AsExpected: true,
			Charges:  []Charge{{ID: "ch_1", Ref: "r"}, {ID: "ch_2", Ref: "r"}},
			Findings: []Finding{{Invariant: "effect/at-most-once", Verdict: "violated", Expected: "violated", Because: "two charges <&> `é`"}}},
		{Scenario: "in-flight", Target: "wait", Status: Judged, Verdict: "held", Expected: "held", AsExpected: true},
		{Scenario: "restart", Target: "wait", Status: NotApplicable, Why: "the store cannot be restarted"},
	}
	return Run{Schema: Schema, Seed: 7, Started: time.Date(2026, 12, 1, 3, 4, 5, 0, time.UTC),
		Store: Store{Kind: "embedded", Version: "miniredis", Address: "127.0.0.1:1"}, Cells: cells, Summary: Summarise(cells)}
}

func exampleHistory() *history.History {
	return &history.History{
		Header: history.Header{Schema: history.Schema, Scenario: "in-flight", Target: "cache", Seed: 7},
		Events: []history.Event{{Seq: 1, Kind: history.Settled}},
	}
}

func TestSummarise(t *testing.T) {
	two := []Charge{{ID: "ch_1", Ref: "r"}, {ID: "ch_2", Ref: "r"}}
	tests := []struct {
		reason string
		cell   Cell
		want   Summary
	}{
		{"as expected, however bad", Cell{Status: Judged, Verdict: "violated", AsExpected: true, Charges: two},
			Summary{Cells: 1, AsExpected: 1, DoubleCharges: 1, ExcessCharges: 1, GatedDoubleCharges: 1}},
		{"a plain gate lets pass what nature makes double", Cell{Status: Judged, Verdict: "violated", AsExpected: true, AtLeastOnce: true, Charges: two},
			Summary{Cells: 1, AsExpected: 1, DoubleCharges: 1, ExcessCharges: 1}},
		{"unexpected", Cell{Status: Judged, Verdict: "violated"}, Summary{Cells: 1, Unexpected: 1}},
		{"inconclusive is not also unexpected", Cell{Status: Judged, Verdict: "inconclusive"}, Summary{Cells: 1, Inconclusive: 1}},
		{"not applicable is no verdict", Cell{Status: NotApplicable}, Summary{Cells: 1, NotApplicable: 1}},
		{"could not run: what was charged while the store was away is no verdict on the coordinator", Cell{Status: CouldNotRun, Charges: two},
			Summary{Cells: 1, CouldNotRun: 1}},
		{"a voided charge does not stand", Cell{Status: Judged, Verdict: "held", AsExpected: true, Charges: []Charge{{Ref: "r"}, {Ref: "r", Voided: true}}},
			Summary{Cells: 1, AsExpected: 1}},
		{"a refund is another effect", Cell{Status: Judged, Verdict: "held", AsExpected: true, Charges: []Charge{{Ref: "r"}, {Ref: "r", Effect: "refund"}}},
			Summary{Cells: 1, AsExpected: 1}},
		{"three charges are one double and two too many", Cell{Status: Judged, Verdict: "violated", AsExpected: true, Charges: append(two, Charge{Ref: "r"})},
			Summary{Cells: 1, AsExpected: 1, DoubleCharges: 1, ExcessCharges: 2, GatedDoubleCharges: 1}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Summarise([]Cell{test.cell})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSavedIsLoaded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	run, name := example(), CellName(example().Cells[0])
	h := exampleHistory()
	if err := Save(dir, run, map[string]*history.History{name: h}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, RunFile)} {
		got, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		want := tidy(run)
		want.Cells[0].History = "history/in-flight.cache.jsonl"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		back, err := LoadHistory(path, got.Cells[0])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, back); diff != "" {
			t.Error(diff)
		}
		if _, err := LoadHistory(path, got.Cells[1]); !errors.Is(err, ErrNoHistory) {
			t.Errorf("no history: %v", err)
		}
	}
	if run.Cells[0].History != "" {
		t.Error("the caller's run was changed")
	}
	onlyThese(t, dir, "history", "history/in-flight.cache.jsonl", "run.json")
}

// onlyThese: nothing else, above all no temporary file, is in dir.
func onlyThese(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); name != "." {
			got = append(got, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A history that cannot be written stands for the full disk: both fail in the
// middle of a save.
func TestFailedSaveChangesNothing(t *testing.T) {
	run := example()
	histories := map[string]*history.History{CellName(run.Cells[0]): exampleHistory()}
	parent := t.TempDir()
	dir := filepath.Join(parent, "run")

	bad := example()
	bad.DurationMS = math.NaN()
	if err := Save(dir, bad, histories); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("one clear line, not %v", err)
	}
	onlyThese(t, parent)

	if err := Save(dir, run, histories); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(filepath.Join(dir, RunFile))
	if err := Save(dir, bad, histories); err == nil {
		t.Error("saved a number that JSON does not have")
	}
	after, _ := os.ReadFile(filepath.Join(dir, RunFile))
	if !bytes.Equal(before, after) {
		t.Error("the former run is gone")
	}
	onlyThese(t, dir, "history", "history/in-flight.cache.jsonl", "run.json")
}

// What an earlier run's document names under history/ goes with it. What nobody
// names, and what lies elsewhere, was never ours to remove.
func TestSaveRemovesTheEarlierRunsHistories(t *testing.T) {
	dir := t.TempDir()
	run := example()
	histories := map[string]*history.History{}
	for _, c := range run.Cells {
		histories[CellName(c)] = exampleHistory()
	}
	if err := Save(dir, run, histories); err != nil {
		t.Fatal(err)
	}
	foreign := []string{"notes.txt", "history/mine.jsonl"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A document that names what lies elsewhere.
	text, err := os.ReadFile(filepath.Join(dir, RunFile))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"history/restart.wait.jsonl"`), []byte(`"history/../notes.txt"`), 1)
	if err := os.WriteFile(filepath.Join(dir, RunFile), text, 0o644); err != nil {
		t.Fatal(err)
	}
	next := run
	next.Cells = run.Cells[:1]
	if err := Save(dir, next, histories); err != nil {
		t.Fatal(err)
	}
	onlyThese(t, dir, "history", "history/in-flight.cache.jsonl", "history/mine.jsonl", "history/restart.wait.jsonl", "notes.txt", "run.json")
}

func TestSaveWhereNoDirectoryCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := Save(filepath.Join(file, "run"), example(), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot save the run in "+file) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	var whole bytes.Buffer
	if err := Encode(&whole, example()); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ reason, text, says string }{
		{"nothing", " \n", "run.json is empty"},
		{"a table", "in-flight   first attempt", "run.json is not JSON (byte 1)"},
		{"JSON lines of something else", "{} {}", "run.json is not JSON (byte 4)"},
		{"cut in the middle", whole.String()[:200], "run.json ends in the middle (byte 200): was the run interrupted while saving?"},
		{"cut before the last brace", strings.TrimRight(whole.String(), "}\n"), "run.json ends in the middle"},
		{"another version", `{"schema":"idemrace.run/v9"}`, `run.json has schema "idemrace.run/v9", this version reads "idemrace.run/v1"`},
		{"some other JSON", `{"a":1}`, `run.json is JSON, but has no schema "idemrace.run/v1"`},
		{"a list", `[1]`, `has no schema`},
		{"a schema that is a number", `{"schema":1}`, `has no schema`},
		{"a member of another type", `{"schema":"idemrace.run/v1","seed":"x"}`, "does not fit schema"},
		{"a status nobody wrote", `{"schema":"idemrace.run/v1","cells":[{"scenario":"s","target":"t","status":"fine"}]}`, `run.json has a cell s of t with status "fine"`},
		{"a gate nobody knows would seem to be open", `{"schema":"idemrace.run/v1","gate":"wide"}`, `run.json has a gate "wide"`},
		{"no cells would look as if all were well", `{"schema":"idemrace.run/v1"}`, "run.json holds no cells"},
		{"null is no cells", `{"schema":"idemrace.run/v1","cells":null}`, "run.json holds no cells"},
		{"so is an empty list", `{"schema":"idemrace.run/v1","cells":[],"interrupted":false}`, "run.json holds no cells"},
		{"a verdict nobody gave", `{"schema":"idemrace.run/v1","cells":[{"scenario":"s","target":"t","status":"judged","verdict":"ok"}]}`, `verdict "ok"`},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			_, err := Read(strings.NewReader(test.text), "run.json")
			if !errors.Is(err, ErrDocument) || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
	t.Run("later versions may add members", func(t *testing.T) {
		if _, err := Read(strings.NewReader(`{"schema":"idemrace.run/v1","mood":"good","cells":[{"status":"could-not-run","mood":"good"}]}`), "-"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a run that was interrupted may hold none", func(t *testing.T) {
		if _, err := Read(strings.NewReader(`{"schema":"idemrace.run/v1","interrupted":true}`), "-"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a directory without a run", func(t *testing.T) {
		_, err := Load(t.TempDir())
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "--save") {
			t.Errorf("got %v", err)
		}
	})
}

// endless has no end, and counts what was taken of it.
type endless struct{ taken int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.taken += len(p)
	return len(p), nil
}

func TestReadingIsBounded(t *testing.T) {
	const most = 1 << 20
	var r endless
	_, err := read(&r, "-", most)
	if !errors.Is(err, ErrDocument) || !strings.Contains(err.Error(), "too big for a run document") {
		t.Errorf("got %v", err)
	}
	if r.taken > 4*most {
		t.Errorf("%d bytes were read of what may have %d", r.taken, most)
	}
	whole := `{"schema":"idemrace.run/v1","interrupted":true}`
	if _, err := read(strings.NewReader(whole), "-", int64(len(whole))); err != nil {
		t.Errorf("a document of just that size: %v", err)
	}
}

// A device has no end. It is not opened, for a test that read it would not end.
func TestDevicesAreRefused(t *testing.T) {
	const device = "/dev/zero"
	if _, err := os.Stat(device); err != nil {
		t.Skip("needs ", device)
	}
	dir := t.TempDir()
	if err := os.Symlink(device, filepath.Join(dir, RunFile)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{device, dir} {
		if _, err := Load(path); !errors.Is(err, ErrDocument) || !strings.Contains(err.Error(), "neither a file nor a pipe") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := LoadHistory(dir, Cell{History: RunFile}); !errors.Is(err, ErrDocument) {
		t.Errorf("a history: %v", err)
	}
}

func TestHistoryStaysInside(t *testing.T) {
	for _, path := range []string{"../secret", "/etc/passwd", "history/../../x"} {
		if _, err := LoadHistory(t.TempDir(), Cell{History: path}); !errors.Is(err, ErrDocument) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestNoPasswordInTheDocument(t *testing.T) {
	run := example()
	secret := "redis://u:p@ss/hunter2@127.0.0.1:1/0"
	run.Store.Address = secret
	run.Cells[0].Why = "dial " + secret + ": refused"
	run.Cells[0].Findings[0].Because = `"` + secret + `"`
	run.Cells[0].Attempts = []Attempt{{Detail: "x http://:hunter2@h/ y", Answer: "error"}}
	var out bytes.Buffer
	if err := Encode(&out, run); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Error(out.String())
	}
	if !strings.Contains(out.String(), "dial redis://127.0.0.1:1/0: refused") {
		t.Error("the rest of the text is kept")
	}
	if run.Store.Address != secret || run.Cells[0].Attempts[0].Detail == "" || !strings.Contains(run.Cells[0].Why, "hunter2") {
		t.Error("the caller's run was changed")
	}
}

func TestListsAreNeverNull(t *testing.T) {
	var out bytes.Buffer
	if err := Encode(&out, Run{Cells: []Cell{{}}}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "null") {
		t.Error(out.String())
	}
}

func TestCellNames(t *testing.T) {
	if got := CellName(Cell{Scenario: "in-flight", Target: "cache"}); got != "in-flight.cache" {
		t.Errorf("plain names stay as they are, not %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("aA./%-2e")), 0, 4, -1))
		a := Cell{Scenario: name.Draw(t, "scenario"), Target: name.Draw(t, "target")}
		b := Cell{Scenario: name.Draw(t, "scenario"), Target: name.Draw(t, "target")}
		same := a.Scenario == b.Scenario && a.Target == b.Target
		if strings.EqualFold(CellName(a), CellName(b)) != same {
			t.Fatalf("%+v and %+v are named %q and %q", a, b, CellName(a), CellName(b))
		}
		if strings.Trim(CellName(a), "abcdefghijklmnopqrstuvwxyz0123456789-_%.") != "" {
			t.Fatalf("not safe: %q", CellName(a))
		}
	})
}
