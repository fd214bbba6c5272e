package history_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/idemrace/idemrace/history"
)

const header = `{"schema":"idemrace.history/v1","scenario":"s","target":"t","seed":1,"events":2}` + "\n"
const twoEvents = `{"seq":1,"at_ns":0,"kind":"send","attempt":1}` + "\n" + `{"seq":2,"at_ns":5,"kind":"settled"}` + "\n"

func TestReadRefuses(t *testing.T) {
	for _, row := range []struct{ why, file, want string }{
		{"nothing at all", "", "line 1: the file is empty"},
		{"no header", twoEvents, `line 1: schema ""`},
		{"a later schema", strings.Replace(header, "/v1", "/v2", 1), `line 1: schema "idemrace.history/v2", want "idemrace.history/v1"`},
		{"cut between lines", header + twoEvents[:strings.Index(twoEvents, "\n")+1], "line 2: the file is cut: it ends after 1 of 2 events"},
		{"cut within a line", header + twoEvents[:len(twoEvents)-3], "line 3: the file is cut: the line has no end"},
		{"cut in the header", header[:20], "line 1: the file is cut"},
		{"only the last line's end is missing", header + strings.TrimSuffix(twoEvents, "\n"), "line 3: the file is cut"},
		{"events swapped", header + strings.Replace(twoEvents, `"seq":1`, `"seq":2`, 1), "line 2: event 2 stands where event 1 belongs"},
		{"an unknown kind", header + strings.Replace(twoEvents, `"send"`, `"sent"`, 1), `line 2: unknown kind "sent"`},
		{"an unknown field", header + strings.Replace(twoEvents, `"attempt"`, `"atempt"`, 1), "line 2: json: unknown field"},
		{"an unknown field of the header", strings.Replace(header, `"seed"`, `"sead"`, 1) + twoEvents, "line 1: json: unknown field"},
		{"two values on a line", header + strings.Replace(twoEvents, "\n", " {}\n", 1), "line 2: more than one value"},
		{"an event too many", header + twoEvents + `{"seq":3,"at_ns":5,"kind":"settled"}` + "\n", "line 4: one event more than the 2"},
		{"not JSON", header + "send\n", "line 2: invalid character"},
		{"a count below nothing", strings.Replace(header, `"events":2`, `"events":-1`, 1), "line 1: events -1"},
	} {
		h, err := history.Read(strings.NewReader(row.file))
		if !errors.Is(err, history.ErrFormat) || !strings.Contains(err.Error(), row.want) || h != nil {
			t.Errorf("%s: got %v, want %q", row.why, err, row.want)
		}
	}
	if h, err := history.Read(strings.NewReader(header + twoEvents)); err != nil || len(h.Events) != 2 {
		t.Errorf("the unspoilt file: %v", err)
	}
}

func TestAnErrorOfTheReaderIsNotTheFilesFault(t *testing.T) {
	broken := errors.New("disk")
	_, err := history.Read(failing{broken})
	if !errors.Is(err, broken) || errors.Is(err, history.ErrFormat) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		var file bytes.Buffer
		if err := history.Write(&file, h); err != nil {
			t.Fatal(err)
		}
		got, err := history.Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
	})
}

func drawHistory(t *rapid.T) *history.History {
	kinds := []history.Kind{history.Send, history.Answer, history.HangUp, history.Run, history.Ran, history.StoreCall, history.StoreReturn,
		history.Arrive, history.Commit, history.Reply, history.Void, history.Orphan, history.Fault, history.RecordSeen, history.Settled}
	text, num := rapid.String(), rapid.Int64()
	h := &history.History{Header: history.Header{Schema: history.Schema, Scenario: text.Draw(t, "scenario"), Seed: num.Draw(t, "seed"),
		Marker: rapid.Bool().Draw(t, "marker"), Controls: []history.Control{{Name: text.Draw(t, "control"), Min: 1}}}}
	for i := range rapid.IntRange(0, 20).Draw(t, "events") {
		h.Events = append(h.Events, history.Event{Seq: i + 1, At: time.Duration(num.Draw(t, "at")), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
			Attempt: rapid.Int().Draw(t, "attempt"), Key: text.Draw(t, "key"), Body: text.Draw(t, "body"), Err: text.Draw(t, "err"),
			Amount: num.Draw(t, "amount"), TTLMS: num.Draw(t, "ttl"), Mine: rapid.Bool().Draw(t, "mine"), Name: text.Draw(t, "name")})
	}
	return h
}

// Whatever is read can be written again and read as the same; whatever is
// refused is refused in the agreed way.
func FuzzRead(f *testing.F) {
	f.Add([]byte(header + twoEvents))
	f.Add([]byte(header))
	f.Add([]byte(`{"schema":"idemrace.history/v1","events":0}` + "\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, err := history.Read(bytes.NewReader(file))
		if err != nil {
			if !errors.Is(err, history.ErrFormat) || !strings.Contains(err.Error(), "line ") {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		var again bytes.Buffer
		if err := history.Write(&again, h); err != nil {
			t.Fatal(err)
		}
		got, err := history.Read(&again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
