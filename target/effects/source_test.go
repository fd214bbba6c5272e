package effects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// printing is a command that prints a text.
func printing(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "cat " + path
}

func source(t *testing.T, s Spec) *Source {
	t.Helper()
	src, err := NewSource(Config{Spec: s})
	if err != nil || src == nil {
		t.Fatalf("%+v: %v, %v", s, src, err)
	}
	return src
}

// psql is what psql --csv prints of a table with a timestamptz, two hours east.
const psql = `created_at,id,note,amount,order_ref
2026-11-30 12:00:00.123456+02,ch_1,"first, and
longest",1001,order r1
2026-11-30 12:00:01+02,ch_2,,1002,order r2
2026-11-30 12:00:02+05:30,ch_3,,-3,order r2
`

func TestRows(t *testing.T) {
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	two := []Row{{Ref: "r1", ID: "a", Amount: 100}, {Ref: "r2", ID: "b", Amount: 200}}
	for _, row := range []struct {
		why, text string
		spec      Spec
		want      []Row
	}{
		{"psql", psql, Spec{Ref: "field:x", Format: "csv", Columns: Columns{Ref: "order_ref", At: "created_at"}}, []Row{
			{"order r1", "ch_1", 1001, at("2026-11-30T10:00:00.123456Z")}, {"order r2", "ch_2", 1002, at("2026-11-30T10:00:01Z")}, {"order r2", "ch_3", -3, at("2026-11-30T06:30:02Z")}}},
		{"a mark of byte order", "\ufeffid,amount,ref\na,100,r1\n", Spec{Format: "csv"}, two[:1]},
		{"no rows yet", "id,amount,ref\n", Spec{Format: "csv"}, nil},
		{"an array", `[{"id":"a","amount":100,"ref":"r1"},{"id":"b","amount":"200","ref":"r2"}]`, Spec{}, two},
		{"an empty array", `[]`, Spec{}, nil},
		{"one a line", "{\"id\":\"a\",\"amount\":100,\"ref\":\"r1\"}\r\n\n{\"id\":\"b\",\"amount\":200,\"ref\":\"r2\"}\n", Spec{}, two},
		{"no line yet", " \n", Spec{}, nil},
		{"an array inside", `{"data":{"rows":[{"charge":{"id":"a"},"amount":100,"ref":"r1"}]}}`, Spec{Rows: "data.rows", Columns: Columns{ID: "charge.id"}}, two[:1]},
		{"told by amounts, no ref", `[{"id":7,"amount":100}]`, Spec{}, []Row{{ID: "7", Amount: 100}}},
		{"an amount that a float cannot hold", `[{"id":"a","amount":9007199254740993}]`, Spec{}, []Row{{ID: "a", Amount: 9007199254740993}}},
		{"one id twice is two effects", `[{"id":"a","amount":1},{"id":"a","amount":1},{"id":"a","amount":1}]`, Spec{}, []Row{{ID: "a", Amount: 1}, {ID: "a#2", Amount: 1}, {ID: "a#3", Amount: 1}}},
		{"no time", `[{"id":"a","amount":1,"t":null}]`, Spec{Columns: Columns{At: "t"}}, []Row{{ID: "a", Amount: 1}}},
	} {
		row.spec.Command = printing(t, row.text)
		got, err := source(t, row.spec).Rows(t.Context())
		if err != nil {
			t.Errorf("%s: %v", row.why, err)
		} else if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: want, got:\n%s", row.why, diff)
		}
	}
}

func TestRowsThatAreRefused(t *testing.T) {
	csv, byRef := Spec{Format: "csv"}, Spec{Ref: "field:x"}
	for _, row := range []struct {
		why, text string
		spec      Spec
		want      string
	}{
		{"major units", "id,amount,ref\na,100,r\nb,12.50,r\n", csv, `line 3, amount: the amount "12.50" is no whole number; give it in minor units (cents)`},
		{"major units, in JSON", `[{"id":"a","amount":100.00}]`, Spec{}, `row 1, amount: the amount "100.00" is no whole number`},
		{"a line after one of two lines", "id,amount,ref\n\"a\nb\",1,r\nc,x,r\n", csv, `line 4, amount: the amount "x"`},
		{"a misspelt column shows at once", "id,amuont,ref\n", csv, `no column "amount"; it has id, amuont, ref`},
		{"a column twice", "id,amount,id\n", csv, `two columns "id"`},
		{"too few fields", "id,amount,ref\na,1\n", csv, "line 2"},
		{"nothing at all", "", csv, "its first line must name the columns"},
		{"no id", `[{"id":"a","amount":1},{"amount":1}]`, Spec{}, `row 2 has no id: {"amount":1}`},
		{"an empty id", `[{"id":null,"amount":1}]`, Spec{}, "row 1, id: it is empty"},
		{"no ref, and refs are needed", `[{"id":"a","amount":1}]`, byRef, "row 1 has no ref; each row must say whose it is"},
		{"an empty ref", "id,amount,ref\na,1,\n", Spec{Format: "csv", Ref: "field:x"}, "line 2, ref: it is empty; each row must say whose it is"},
		{"a ref column that was named", `[{"id":"a","amount":1}]`, Spec{Columns: Columns{Ref: "order"}}, "row 1 has no order"},
		{"a time that is none", `[{"id":"a","amount":1,"t":"yesterday"}]`, Spec{Columns: Columns{At: "t"}}, `row 1, t: the time "yesterday"`},
		{"no time column", `[{"id":"a","amount":1}]`, Spec{Columns: Columns{At: "t"}}, "row 1 has no t"},
		{"HTML", "<html>\n<body>502</body>", Spec{}, "neither a JSON array nor one object a line (an array inside an object is named by rows): <html> <body>502"},
		{"half an array", `[{"id":"a","amount":1},`, Spec{}, "neither a JSON array"},
		{"half an object, with rows", `{"rows":[{"id":"a","amount":1}]`, Spec{Rows: "rows"}, "there is no array at rows"},
		{"nothing, with rows", "", Spec{Rows: "rows"}, "(it said nothing)"},
		{"no objects", `[1, 2]`, Spec{}, "row 1 is no object: 1"},
	} {
		row.spec.Command = printing(t, row.text)
		_, err := source(t, row.spec).Rows(t.Context())
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", row.why, err, row.want)
		}
	}
}

func TestSpecsThatAreRefused(t *testing.T) {
	for _, row := range []struct {
		why  string
		spec Spec
		want string
	}{
		{"two sources", Spec{Command: "true", URL: "http://127.0.0.1"}, "not from both"},
		{"a format that is none", Spec{Command: "true", Format: "xml"}, "effects.format"},
		{"so without a source", Spec{Format: "xml"}, "effects.format"},
		{"a path into CSV", Spec{Command: "true", Format: "csv", Rows: "data"}, "effects.rows"},
		{"no URL", Spec{URL: "localhost/charges"}, "effects.url"},
		{"less than nothing", Spec{Quiet: -1}, "effects.quiet"},
		{"a ref that is none", Spec{Command: "true", Ref: "key"}, "effects.ref"},
	} {
		if _, err := NewSource(Config{Spec: row.spec}); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.why, err, row.want)
		}
	}
	if s, err := NewSource(Config{Spec: Spec{Format: "csv", Columns: Columns{ID: "x"}}}); s != nil || err != nil {
		t.Errorf("without a source there is none: %v, %v", s, err)
	}
}

func TestCommandsThatFail(t *testing.T) {
	for _, row := range []struct{ why, command, want string }{
		{"it says why", "echo no such table >&2; exit 3", "command: exit status 3: no such table"},
		{"it says nothing", "exit 1", "command: exit status 1: (it said nothing)"},
		{"it never stops", "exec cat /dev/zero", "more than 32 MiB"},
		{"it leaves a child", "sleep 1000 & echo []", "left a process behind"},
	} {
		_, err := source(t, Spec{Command: row.command}).Rows(t.Context())
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.why, err, row.want)
		}
	}
}

func TestACommandHasItsOwnSurroundings(t *testing.T) {
	t.Setenv("OURS", "leaks")
	dir := t.TempDir()
	src, err := NewSource(Config{Spec: Spec{Command: `echo "[{\"id\":\"$(pwd)|$THEIRS|$OURS\",\"amount\":1}]"`}, Dir: dir, Env: []string{"THEIRS=yes"}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := src.Rows(t.Context())
	if err != nil || len(rows) != 1 || !strings.HasSuffix(rows[0].ID, filepath.Base(dir)+"|yes|") {
		t.Errorf("%v, %v", rows, err)
	}
}

// A command that hangs is ended with its children when its caller has enough: the
// pipe that they all hold comes to its end.
func TestACommandIsEndedWithItsChildren(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		held, err := os.Open(pipe)
		if err != nil {
			ended <- err
			return
		}
		defer held.Close()
		if _, err := held.Read(make([]byte, 1)); err != nil { // the child runs
			ended <- err
			return
		}
		cancel(enough)
		_, err = io.Copy(io.Discard, held)
		ended <- err
	}()
	_, err := source(t, Spec{Command: "exec 3>" + pipe + "; sleep 1000 & echo >&3; wait"}).Rows(ctx)
	if !errors.Is(err, enough) {
		t.Errorf("the error is %v, want the caller's", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestURL(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case r.Header.Get("Authorization") != "Bearer t":
			http.Error(w, "who are you?", http.StatusUnauthorized)
		default:
			fmt.Fprint(w, `[{"id":"a","amount":1}]`)
		}
	}))
	defer server.Close()
	headers := map[string]string{"Authorization": "Bearer t"}
	if rows, err := source(t, Spec{URL: server.URL, Headers: headers}).Rows(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("%v, %v", rows, err)
	}
	if _, err := source(t, Spec{URL: server.URL}).Rows(t.Context()); err == nil || !strings.Contains(err.Error(), "url: it answered 401: who are you?") {
		t.Errorf("without its header: %v", err)
	}
	if _, err := source(t, Spec{URL: server.URL + "/moved", Headers: headers}).Rows(t.Context()); err == nil || !strings.Contains(err.Error(), "it answered 302") {
		t.Errorf("a redirect could lead off this machine: %v", err)
	}
	server.Close()
	if _, err := source(t, Spec{URL: server.URL}).Rows(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: %v", err)
	}
}

// Rows that come late are counted; their order does not matter, and a time with an
// offset is the same time when it is read again.
func TestRestWaitsForLateRows(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a, b := `{"id":"a","amount":1,"t":"2026-11-30T12:00:00+05:30"}`, `{"id":"b","amount":2,"t":"2026-11-30T12:00:00+05:30"}`
		switch n := asked.Add(1); {
		case n == 1:
			fmt.Fprintf(w, "[%s]", a)
		case n%2 == 0:
			fmt.Fprintf(w, "[%s,%s]", a, b)
		default:
			fmt.Fprintf(w, "[%s,%s]", b, a)
		}
	}))
	defer server.Close()
	rows, err := source(t, Spec{URL: server.URL, Columns: Columns{At: "t"}, Quiet: 3 * every}).Rest(t.Context())
	if err != nil || len(rows) != 2 {
		t.Errorf("%v, %v", rows, err)
	}
}

// What never rests ends with the caller's patience, and an error ends it at once.
func TestRestEnds(t *testing.T) {
	var asked atomic.Int64
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if n == 4 {
			cancel(enough)
		}
		fmt.Fprintf(w, `[{"id":"%d","amount":1}]`, n)
	}))
	defer server.Close()
	if _, err := source(t, Spec{URL: server.URL}).Rest(ctx); !errors.Is(err, enough) {
		t.Errorf("without rest: %v", err)
	}
	if _, err := source(t, Spec{Command: "exit 1"}).Rest(t.Context()); err == nil {
		t.Error("a command that fails gives rest")
	}
}

func FuzzRows(f *testing.F) {
	f.Add(psql, true)
	f.Add(`[{"id":"a","amount":1,"ref":"r"}]`, false)
	f.Add("{\"id\":\"a\",\"amount\":1}\n{", false)
	f.Fuzz(func(t *testing.T, text string, csv bool) {
		s := &Source{spec: Spec{Columns: Columns{Ref: "ref", ID: "id", Amount: "amount", At: "at"}}}
		read := s.fromJSON
		if csv {
			read = s.fromCSV
		}
		rows, err := read([]byte(text))
		if err != nil && rows != nil {
			t.Errorf("an error (%v) with rows, %v: half of them would be counted", err, rows)
		}
		for _, r := range rows {
			if r.ID == "" || r.Ref == "" {
				t.Errorf("a row without id or ref: %+v", r)
			}
		}
	})
}
