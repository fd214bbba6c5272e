package check_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

func controlled(h *history.History, controls ...history.Control) *history.History {
	h.Header.Controls = controls
	return h
}

func TestAFailedControlMakesHeldInconclusive(t *testing.T) {
	met := history.Control{Name: "overlap", Min: 1}
	missed := history.Control{Name: "takeover", Min: 1}
	unknown := history.Control{Name: "no-such-thing", Min: 0}
	for _, row := range []struct {
		why      string
		tell     func(s *story)
		controls []history.Control
		want     check.Verdict
	}{
		{"all controls met", oneCharge, []history.Control{met}, check.Held},
		{"one missed", oneCharge, []history.Control{met, missed}, check.Inconclusive},
		{"one that nobody can count is never met", oneCharge, []history.Control{unknown}, check.Inconclusive},
		{"violated stays violated", twoCharges, []history.Control{missed}, check.Violated},
	} {
		h := controlled(told(row.tell), row.controls...)
		if f := finding(t, h, "effect/at-most-once"); f.Verdict != row.want {
			t.Errorf("%s: %s, want %s", row.why, f.Verdict, row.want)
		}
		if got := check.Worst(check.Judge(h)); got != row.want {
			t.Errorf("%s: the worst is %s, want %s", row.why, got, row.want)
		}
	}
	f := finding(t, controlled(told(oneCharge), met, missed), "effect/at-most-once")
	if !strings.Contains(f.Because, "takeover was seen 0 times, not 1") || strings.Contains(f.Because, "overlap") {
		t.Errorf("it does not say which control failed: %s", f.Because)
	}
}

func TestWorst(t *testing.T) {
	if got := check.Worst(nil); got != check.Held {
		t.Errorf("of nothing: %s", got)
	}
	held, doubt, bad := check.Finding{Verdict: check.Held}, check.Finding{Verdict: check.Inconclusive}, check.Finding{Verdict: check.Violated}
	if got := check.Worst([]check.Finding{held, doubt, held}); got != check.Inconclusive {
		t.Errorf("got %s", got)
	}
	if got := check.Worst([]check.Finding{bad, doubt, held}); got != check.Violated {
		t.Errorf("got %s", got)
	}
}

func TestEachControlCounts(t *testing.T) {
	rich := func(s *story) {
		s.at(0).send("A").claim("A", 1).run("A").arrive("A").fault("provider-hold", count(1))
		s.send("B").refuseClaim("B").begin("B", "await").end("B", down).send("C", other).say("C", "key-reused")
		s.send("D", other, key("k2")).arrive("D").reply("D", failed).say("D", "in-progress").hangUp("B")
		s.fault("end-leases", count(0)).fault("end-leases").fault("provider-release", count(1)).send("E").claim("E", 2)
		s.commit("A").reply("A").ran("A", "ok").settle("A", "done", false).orphan("A", "ch_1")
		s.ok("A", "ch_1", "executed").ok("B", "ch_1", "waited").begin("E", "settle").end("E", down).ok("E", "ch_1", "unprotected")
	}
	want := map[string]int{
		"overlap": 5, "entered": 2, "parallel-calls": 1, "replay": 1, "execution": 1, "provider-call": 2, "charge": 1,
		"fault": 3, "fault:end-leases": 1, "fault:provider-hold": 1, "fault:store-down": 0,
		"takeover": 1, "refusal": 1, "in-progress": 1, "waiting": 1, "store-error": 1, "provider-failure": 1,
		"late-settle": 1, "hold": 1, "hang-up": 1, "orphan": 1, "unprotected": 1,
	}
	h := told(rich)
	for name, n := range want {
		if !check.KnownControl(name) {
			t.Errorf("%s is not known", name)
		}
		h.Header.Controls = []history.Control{{Name: name, Min: 1}}
		if got := check.Controls(h)[0]; got.Seen != n || got.OK() != (n > 0) {
			t.Errorf("%s: seen %d, want %d", name, got.Seen, n)
		}
	}
	for _, name := range check.ControlNames() {
		if want[name] == 0 {
			t.Errorf("%s is never seen in this test", name)
		}
	}
	if check.KnownControl("fault:") || check.KnownControl("") {
		t.Error("a control without a name is known")
	}
}

func TestUnmarkedReplaysAreCounted(t *testing.T) {
	h := controlled(told(func(s *story) {
		s.send("A").ok("A", "ch_1", "").send("B").ok("B", "ch_1", "").send("C", other, key("k2")).ok("C", "ch_2", "")
	}), history.Control{Name: "replay", Min: 1})
	if got := check.Controls(h)[0].Seen; got != 1 {
		t.Errorf("seen %d, want 1", got)
	}
}

func TestTakeoversOfPlainClaims(t *testing.T) {
	h := controlled(told(func(s *story) {
		s.send("A").plain("A", "setnx", "pending", 9).send("B").plain("B", "setnx", "pending", 9).plain("B", "delete", "", 0)
		s.send("C").plain("C", "setnx", "pending", 9)
	}), history.Control{Name: "takeover", Min: 1})
	if got := check.Controls(h)[0].Seen; got != 1 {
		t.Errorf("seen %d, want 1: B took over from A, C found the key given back", got)
	}
}

func TestWhatIsNotKnownIsRefused(t *testing.T) {
	good := check.Lack{Invariant: "effect/at-most-once", Stress: check.StoreDown, Unless: check.NeedsFailClosed}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []check.Lack{
		{Invariant: "effect/at-most", Stress: check.StoreDown},
		{Invariant: "effect/at-most-once", Stress: "weather"},
		{Invariant: "effect/at-most-once", Stress: check.StoreDown, Unless: "luck"},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if (check.Exposure{Invariant: "effect"}).Validate() == nil || (check.Exposure{Invariant: "claim/fenced"}).Validate() != nil {
		t.Error("exposures are not validated by the catalogue")
	}
}

// Judging one law alone, and all of them together, is the same.
func TestJudgeAgreesWithEachInvariant(t *testing.T) {
	for _, p := range pairs() {
		h := told(p.illegal)
		inv, ok := check.Lookup(p.id)
		if !ok {
			t.Fatalf("%s is not in the catalogue", p.id)
		}
		f, bad := finding(t, h, p.id), inv.Judge(h)
		if bad == nil || f.Because != bad.Because || !slices.Equal(f.Events, bad.Events) {
			t.Errorf("%s: %+v and %+v", p.id, f, bad)
		}
	}
}

func TestJudgingChangesNothing(t *testing.T) {
	h, same := told(twoCharges), told(twoCharges)
	check.Judge(h)
	if !reflect.DeepEqual(h, same) {
		t.Error("the history was changed")
	}
}

// Two stories of different keys that happen at once are judged as each alone:
// whatever the interleaving, no law mixes them up.
func TestInterleavedStoriesOfDifferentKeysDoNotMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		legal := told(oneCharge).Events
		illegal := told(twoCharges).Events
		for _, second := range []struct {
			events []history.Event
			want   check.Verdict
		}{{legal, check.Held}, {illegal, check.Violated}} {
			h := told(func(*story) {})
			h.Events = interleave(t, legal, moved(second.events))
			if got := check.Worst(check.Judge(h)); got != second.want {
				t.Fatalf("the worst is %s, want %s: %+v", got, second.want, check.Judge(h))
			}
		}
	})
}

// moved gives a story another key, ref and numbers.
func moved(events []history.Event) []history.Event {
	events = slices.Clone(events)
	for i := range events {
		e := &events[i]
		for _, n := range []*int{&e.Attempt, &e.Call} {
			if *n > 0 {
				*n += 100
			}
		}
		for _, s := range []*string{&e.Client, &e.Key, &e.Ref, &e.Charge, &e.Name, &e.Token, &e.Body} {
			if *s != "" {
				*s += "-2"
			}
		}
	}
	return events
}

func interleave(t *rapid.T, a, b []history.Event) []history.Event {
	var all []history.Event
	for len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && rapid.Bool().Draw(t, "first") {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	for i := range all {
		all[i].Seq, all[i].At = i+1, time.Duration(i)*time.Millisecond
	}
	return all
}

// Attempts are known by number only; which numbers does not matter.
func TestNumbersOfAttemptsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(pairs()).Draw(t, "pair")
		h := told(p.illegal)
		shift := rapid.IntRange(1, 1000).Draw(t, "shift")
		want := check.Judge(h)
		for i := range h.Events {
			if h.Events[i].Attempt > 0 {
				h.Events[i].Attempt = 5000 - shift*h.Events[i].Attempt
			}
		}
		if got := check.Judge(h); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// A history cut anywhere is judged without a panic; and what is violated by a
// prefix that ends with the same last word is a matter of the law, not of luck.
func TestPrefixesAreJudged(t *testing.T) {
	for _, p := range pairs() {
		for _, tell := range []func(*story){p.legal, p.illegal} {
			h := told(tell)
			for n := range h.Events {
				check.Judge(&history.History{Header: h.Header, Events: h.Events[:n]})
			}
		}
	}
}

// FuzzJudge makes events of bytes: from small alphabets, so that they meet.
func FuzzJudge(f *testing.F) {
	f.Add([]byte("send answer commit, and so on, for a while, until something meets"))
	f.Add([]byte{})
	for _, p := range pairs()[:4] {
		f.Add([]byte(p.id + p.because))
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		h := fromBytes(bytes)
		for _, finding := range check.Judge(h) {
			if finding.Verdict == check.Violated && (finding.Because == "" || len(finding.Events) == 0) {
				t.Errorf("%s is violated without evidence", finding.Invariant)
			}
			for _, seq := range finding.Events {
				if seq < 1 || seq > len(h.Events) {
					t.Errorf("%s names event %d of %d", finding.Invariant, seq, len(h.Events))
				}
			}
		}
	})
}

func fromBytes(bytes []byte) *history.History {
	next := func() int {
		if len(bytes) == 0 {
			return 0
		}
		b := bytes[0]
		bytes = bytes[1:]
		return int(b)
	}
	pick := func(words ...string) string { return words[next()%len(words)] }
	flags := next()
	h := &history.History{Header: history.Header{Schema: history.Schema, LeaseMS: int64(flags&1) * 500, RetentionMS: int64(flags&2) * 50, Inspected: flags&4 > 0,
		Marker: flags&8 > 0, Releases: flags&16 > 0, Policy: pick("", "open", "closed"), Controls: []history.Control{{Name: pick("overlap", "replay", "takeover", "?"), Min: 1}}}}
	kinds := []string{"send", "send", "answer", "answer", "hang-up", "run", "ran", "store-call", "store-return", "provider-arrive",
		"provider-commit", "provider-reply", "provider-void", "orphan", "fault", "record", "settled"}
	for len(bytes) > 0 && len(h.Events) < 200 {
		bits := next()
		h.Events = append(h.Events, history.Event{
			Seq: len(h.Events) + 1 - next()%2, At: time.Duration(next()-9) * time.Millisecond, Kind: history.Kind(pick(kinds...)), Attempt: next() % 6, Call: next() % 6,
			Client: pick("A", "B", ""), Worker: pick("w1", "w2"), Operation: pick("pay", "refund"), Key: pick("k", " k", "", "k2"), Ref: pick("r", "r2", ""),
			Fingerprint: pick("f", "f2", ""), Amount: int64(next() % 3), Answer: pick("ok", "ok", "in-progress", "key-reused", "declined", "error", "unknown", "owner-failed", "store-unavailable", "hung-up"),
			Source: pick("executed", "replayed", "unprotected", ""), Charge: pick("ch_1", "ch_2", ""), Body: pick("", "x"), Name: pick("n", "n2", ""), Token: pick("t", "t2", ""),
			Op:    pick("claim", "settle", "await", "keep", "renew", "get", "set", "setnx", "expire", "delete", "end-leases", "set-expiry", "store-down", "store-up", "worker-kill", "provider-hold"),
			State: pick("", "pending", "done", "free", "unknown"), Fence: int64(next() % 3), Generation: int64(next() % 3), TTLMS: int64(next()*20 - 100), LeaseMS: int64(next() * 10),
			Mine: bits&1 > 0, Took: bits&2 > 0, Applied: bits&4 > 0, N: bits & 1, ProviderKey: pick("", "p", "p2"), Effect: pick("charge", "refund"), Class: pick("ok", "error", "unknown", "no-effect"),
			Err: pick("", "", "boom"),
		})
	}
	return h
}

// A history of many attempts is judged in about linear time: compare the two.
func BenchmarkJudge(b *testing.B) {
	for _, row := range []struct {
		name string
		n    int
		key  func(i int) string
	}{
		{"one-key/1000", 1000, func(int) string { return "k" }},
		{"one-key/10000", 10000, func(int) string { return "k" }},
		{"one-key/40000", 40000, func(int) string { return "k" }},
		{"many-keys/10000", 10000, func(i int) string { return strings.Repeat("k", i%50) + string(rune('a'+i%26)) }},
	} {
		b.Run(row.name, func(b *testing.B) {
			h := told(func(s *story) {
				s.send("A").claim("A", 1).charge("A").settle("A", "done", true).ok("A", "ch_1", "executed")
				for i := range row.n {
					s.at(i).send("B", key(row.key(i))).refuseClaim("B").ok("B", "ch_1", "replayed")
				}
			})
			for b.Loop() {
				check.Judge(h)
			}
		})
	}
}
