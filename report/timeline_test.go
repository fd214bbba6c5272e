package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/report"
)

// at gives an event its moment, in milliseconds.
func at(ms float64, e history.Event) history.Event {
	e.At = time.Duration(ms * float64(time.Millisecond))
	return e
}

func sends(ms float64, n int, client string) history.Event {
	return at(ms, history.Event{Kind: history.Send, Attempt: n, Client: client, Worker: "w1",
		Operation: "charge", Key: "order-42", Ref: "r1", Amount: 100})
}

func answers(ms float64, n int, client, charge, source string) history.Event {
	return at(ms, history.Event{Kind: history.Answer, Attempt: n, Client: client, Ref: "r1", Answer: history.OK, Charge: charge, Source: source})
}

func arrives(ms float64, call, attempt int) history.Event {
	return at(ms, history.Event{Kind: history.Arrive, Call: call, Attempt: attempt, Ref: "r1", Effect: "charge", Amount: 100})
}

func commits(ms float64, call int, charge string) []history.Event {
	return []history.Event{
		at(ms, history.Event{Kind: history.Commit, Call: call, Ref: "r1", Effect: "charge", Amount: 100, Charge: charge}),
		at(ms, history.Event{Kind: history.Reply, Call: call, Ref: "r1", Charge: charge}),
	}
}

func historyOf(parts ...any) *history.History {
	h := &history.History{}
	for _, p := range parts {
		switch p := p.(type) {
		case history.Event:
			h.Events = append(h.Events, p)
		case []history.Event:
			h.Events = append(h.Events, p...)
		}
	}
	for i := range h.Events {
		h.Events[i].Seq = i + 1
	}
	return h
}

// inFlightCache is the article's first row.
func inFlightCache() *history.History {
	return historyOf(
		sends(0, 1, "A"), arrives(1, 1, 1),
		sends(50, 2, "B"), arrives(51, 2, 2),
		commits(301, 1, "ch_1"), answers(302, 1, "A", "ch_1", "executed"),
		commits(351, 2, "ch_2"), answers(352, 2, "B", "ch_1", "replayed"),
	)
}

func drawn(t *testing.T, h *history.History, opt report.TimelineOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.Timeline(&out, h, opt); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestTimelinePunchLine: the left pane agrees with itself, the right one shows
// the card charged twice.
func TestTimelinePunchLine(t *testing.T) {
	want := strings.TrimPrefix(`
         WHAT YOUR TEST SEES                │ WHAT THE CARD SEES
────────────────────────────────────────────┼───────────────────────────────────
    0 ms A ──▶ charge 100, key order-42     │
    1 ms                                    │ ┌   call 1, for A: charge 100
   50 ms B ──▶ the same again               │ │
   51 ms                                    │ │ ┌ call 2, for B: charge 100
  301 ms                                    │ ● │ ch_1: charged 100
  302 ms A ◀── ch_1                         │   │
  351 ms                                    │   ● ch_2: charged 100 AGAIN
  352 ms B ◀── ch_1, replayed               │
────────────────────────────────────────────┼───────────────────────────────────
         answers: ch_1, ch_1                │ charges: ch_1, ch_2
         the answers agree                  │ CHARGED TWICE
`, "\n")
	if diff := cmp.Diff(want, drawn(t, inFlightCache(), report.TimelineOptions{})); diff != "" {
		t.Error(diff)
	}
}

// TestTimelineBurst: twenty clients are one line and one lane.
func TestTimelineBurst(t *testing.T) {
	var sent, arrived, done, answered []history.Event
	for i := range 20 {
		client := fmt.Sprintf("C%d", i+1)
		sent = append(sent, sends(0, i+1, client), arrives(0.5, i+1, i+1))
		done = append(done, commits(2, i+1, fmt.Sprintf("ch_%d", i+1))...)
		answered = append(answered, answers(3, i+1, client, "ch_1", "replayed"))
	}
	answered[0].Source = "executed"
	want := strings.TrimPrefix(`
         WHAT YOUR TEST SEES                │ WHAT THE CARD SEES
────────────────────────────────────────────┼───────────────────────────────────
  0.0 ms 20 clients ──▶ charge 100, key     │
           order-42                         │
  0.5 ms                                    │ ┌ 20 calls: charge 100 each
  2.0 ms                                    │ ● ch_1 … ch_20: charged 100, 20
                                            │     times
  3.0 ms C1 ◀── ch_1                        │
  3.0 ms 19 clients ◀── ch_1, replayed      │
────────────────────────────────────────────┼───────────────────────────────────
         answers: 20 × ch_1                 │ charges: ch_1 … ch_20 (20)
         the answers agree                  │ CHARGED 20 TIMES
`, "\n")
	got := drawn(t, historyOf(sent, arrived, done, answered), report.TimelineOptions{})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTimelineCauseFirst: three alike answers are one burst only if all three
// questions came before the first of them.
func TestTimelineCauseFirst(t *testing.T) {
	refused := func(n int, client string) history.Event {
		e := answers(float64(2*n), n, client, "", "")
		e.Answer = history.InvalidKey
		return e
	}
	one := func(n int, client string) []history.Event {
		send := sends(float64(2*n-1), n, client)
		send.Key = strings.Repeat("k", n)
		return []history.Event{send, refused(n, client)}
	}
	apart := drawn(t, historyOf(one(1, "A"), one(2, "B"), one(3, "C")), report.TimelineOptions{})
	if strings.Contains(apart, "3 clients") || strings.Count(apart, "◀── invalid key") != 3 {
		t.Errorf("told before they were asked:\n%s", apart)
	}
	burst := drawn(t, historyOf(one(1, "A")[0], one(2, "B")[0], one(3, "C")[0], refused(1, "A"), refused(2, "B"), refused(3, "C")), report.TimelineOptions{})
	if !strings.Contains(burst, "3 clients ◀── invalid key") {
		t.Errorf("a burst is one line:\n%s", burst)
	}
}

// TestTimelineTells has one row per kind of event that is drawn, and the words
// it must be told in.
func TestTimelineTells(t *testing.T) {
	fault := func(op string, set ...func(*history.Event)) history.Event {
		e := history.Event{Kind: history.Fault, Op: op}
		for _, f := range set {
			f(&e)
		}
		return e
	}
	worker := func(e *history.Event) { e.Worker = "w1" }
	tests := []struct {
		name   string
		events []any
		want   string
		not    string
	}{
		{"a failure before the charge says that nothing was charged",
			[]any{arrives(0, 1, 1), history.Event{Kind: history.Reply, Call: 1, Err: "provider: timed out"}},
			"✗ call 1: timed out, nothing charged", ""},
		{"a failure after the charge must not say that",
			[]any{arrives(0, 1, 1), commits(1, 1, "ch_1")[0], history.Event{Kind: history.Reply, Call: 1, Err: "provider: internal error"}},
			"call 1: internal error", "nothing charged"},
		{"a provider that honours keys answers without a charge",
			[]any{arrives(0, 1, 1), commits(1, 1, "ch_1"), arrives(2, 2, 1), history.Event{Kind: history.Reply, Call: 2, Charge: "ch_1"}},
			"call 2: gets ch_1 again, nothing charged", "TWICE"},
		{"a void takes a charge back",
			[]any{arrives(0, 1, 1), commits(1, 1, "ch_1"), arrives(2, 2, 1), commits(3, 2, "ch_2"), history.Event{Kind: history.Void, Charge: "ch_2", Ref: "r1"}},
			"ch_2 is voided", "TWICE"},
		{"an orphan is reported", []any{history.Event{Kind: history.Orphan, Charge: "ch_1"}}, "ch_1 is reported as an orphan", ""},
		{"a client that hangs up", []any{history.Event{Kind: history.HangUp, Client: "A"}}, "A hangs up", ""},
		{"other answers in words", []any{history.Event{Kind: history.Answer, Client: "B", Answer: history.InProgress}}, "B ◀── in progress", "in-progress"},
		{"a second worker is named", []any{history.Event{Kind: history.Send, Client: "B", Worker: "w2", Operation: "charge", Key: "k"}}, "(w2)", ""},
		{"a key with blanks is quoted", []any{history.Event{Kind: history.Send, Client: "B", Operation: "charge", Key: " k "}}, `key " k "`, ""},
		{"a long key is measured", []any{history.Event{Kind: history.Send, Client: "B", Operation: "charge", Key: strings.Repeat("k", 256)}}, "256", "kkkk"},
		{"a store that is down", []any{fault("store-down")}, "the store is down", ""},
		{"a worker's death", []any{fault("worker-kill", worker)}, "worker w1 dies", ""},
		{"the provider's holds are the harness' own", []any{fault("provider-release")}, "none", "provider-release"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := words(drawn(t, historyOf(tt.events...), report.TimelineOptions{Width: 100}))
			if !strings.Contains(got, tt.want) || (tt.not != "" && strings.Contains(got, tt.not)) {
				t.Errorf("want %q, and not %q, in\n%s", tt.want, tt.not, got)
			}
		})
	}
}

// words makes wrapped text one text again.
func words(s string) string { return regexp.MustCompile(`\s+`).ReplaceAllString(s, " ") }

// TestTimelineFaultOnce: some disturbances are recorded before and after; a
// reader needs them once.
func TestTimelineFaultOnce(t *testing.T) {
	end := history.Event{Kind: history.Fault, Op: "end-leases"}
	done := end
	done.N = 1
	got := drawn(t, historyOf(end, done), report.TimelineOptions{})
	if n := strings.Count(got, "the lease of every claim ends"); n != 1 {
		t.Errorf("told %d times, want once:\n%s", n, got)
	}
}

// TestTimelineWidth: no line is wider than the page, whatever the page.
func TestTimelineWidth(t *testing.T) {
	long := history.Event{Kind: history.Send, Client: "A", Operation: strings.Repeat("o", 90), Key: "k", Tenant: "t t t t t"}
	h := inFlightCache()
	h.Events = append(h.Events, long)
	for _, width := range []int{60, 72, 80, 100, 110, 300} {
		for _, color := range []bool{false, true} {
			text := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(drawn(t, h, report.TimelineOptions{Width: width, Color: color}), "")
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > min(width, 110) {
					t.Errorf("width %d, colour %v: %d columns: %s", width, color, n, line)
				}
			}
		}
	}
}

// TestTimelineColor: colour is asked for, and never changes the words.
func TestTimelineColor(t *testing.T) {
	plain := drawn(t, inFlightCache(), report.TimelineOptions{})
	colored := drawn(t, inFlightCache(), report.TimelineOptions{Color: true})
	if strings.Contains(plain, "\x1b") {
		t.Error("colour without being asked")
	}
	if !strings.Contains(colored, "\x1b[1;31mch_2: charged 100 AGAIN") {
		t.Error("the second charge must be red")
	}
	if bare := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored, ""); strings.ReplaceAll(bare, " ", "") != strings.ReplaceAll(plain, " ", "") {
		t.Errorf("colour changed the words:\n%s", cmp.Diff(plain, bare))
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestTimelineSaysThatItCannotWrite(t *testing.T) {
	if err := report.Timeline(brokenWriter{}, inFlightCache(), report.TimelineOptions{}); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the writer's error", err)
	}
}
