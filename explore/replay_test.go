package explore

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// violation explores and returns the first schedule that violates the invariant.
func violation(t testing.TB, cfg Config, invariant string) Violation {
	t.Helper()
	r, err := Explore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Found, func(v Violation) bool { return v.Invariant == invariant })
	if i < 0 {
		t.Fatalf("%v: %s was not found: %+v", cfg, invariant, r.Found)
	}
	return r.Found[i]
}

func article(t testing.TB) Config { return Config{Entry: entry(t, "cache"), Preemptions: 1} }

func TestTokensComeBack(t *testing.T) {
	for _, s := range []Schedule{
		violation(t, article(t), "effect/silent-duplicate").Schedule,
		violation(t, Config{Entry: entry(t, "wait"), Expiries: 1, Preemptions: Unbounded}, "effect/at-most-once").Schedule,
		{Coordinator: "odd; name|, 100% = \"x\"", Clients: 3, Payloads: true, HonoursKeys: true, HangUps: 2, Seed: -7, Invariant: "a/b", Steps: []Step{{"A", "get", "a=b,c;d:e|f"}, {"clock", "tick", ""}}},
		{Coordinator: "none", Clients: 1},
	} {
		token := Encode(s)
		got, err := Decode(" " + token + "\n")
		if diff := cmp.Diff(s, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", token, err, diff)
		}
	}
}

func TestBadTokens(t *testing.T) {
	good := Encode(violation(t, article(t), "effect/at-most-once").Schedule)
	for why, token := range map[string]string{
		"nothing":               "",
		"another word":          "hello",
		"another version":       "i2:abc",
		"cut short":             good[:len(good)-3],
		"a letter changed":      good[:20] + flip(good[20:21]) + good[21:],
		"a letter that is none": good[:20] + "*" + good[21:],
		"endless":               Prefix + strings.Repeat("A", maxToken),
	} {
		if _, err := Decode(token); !errors.Is(err, ErrToken) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func flip(letter string) string {
	if letter == "A" {
		return "B"
	}
	return "A"
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(Schedule{Coordinator: "cache", Clients: 2, Steps: []Step{{"A", "start", ""}, {"A", "get", "fails"}, {"B", "start", ""}}}))
	f.Add("i1:")
	f.Fuzz(func(t *testing.T, token string) {
		s, err := Decode(token)
		if err != nil {
			return
		}
		again, err := Decode(Encode(s))
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%+v came back as %+v, %v", s, again, err)
		}
	})
}

func TestReplayIsTheSameRun(t *testing.T) {
	v := violation(t, article(t), "effect/silent-duplicate")
	r, err := Replay(article(t), v.Schedule)
	if err != nil || r.Fixed || !r.breaks(v.Invariant) {
		t.Fatalf("%+v, %v", r.Violated, err)
	}
	if diff := cmp.Diff(v.Schedule, r.Schedule); diff != "" {
		t.Error(diff)
	}
	if want := "A ok replayed ch_2; B ok executed ch_2; ch_1 for r1; ch_2 for r1"; r.Outcome != want {
		t.Errorf("outcome %q, want %q", r.Outcome, want)
	}
}

// The steps of cache do not fit wait: it says where, and what is possible there.
func TestReplayDiverges(t *testing.T) {
	v := violation(t, article(t), "effect/silent-duplicate")
	r, err := Replay(Config{Entry: entry(t, "wait")}, v.Schedule)
	var d *DivergedError
	if !errors.As(err, &d) || !errors.Is(err, ErrDiverged) || d.At != 1 || d.Wanted != "A get" || !slices.Contains(d.Possible, Step{"A", "claim", ""}) {
		t.Errorf("%v", err)
	}
	if r.Fixed {
		t.Error("what does not fit is not fixed")
	}
	short := v.Schedule
	short.Steps = short.Steps[:5]
	if _, err := Replay(article(t), short); !errors.As(err, &d) || d.At != 5 || d.Wanted != "" || len(d.Possible) == 0 {
		t.Errorf("a schedule that ends too early: %v", err)
	}
}

// The same steps on a coordinator that keeps the invariant.
func TestReplayIsFixed(t *testing.T) {
	cfg := Config{Entry: entry(t, "no-fingerprint"), Payloads: true, Preemptions: 0}
	v := violation(t, cfg, "reuse/refused")
	r, err := Replay(Config{Entry: entry(t, "wait")}, v.Schedule)
	if err != nil || !r.Fixed {
		t.Errorf("%v, violated %v", err, r.Violated)
	}
}

// Nothing is left to remove: without any one step or unit the schedule passes, or no
// longer fits.
func TestMinimalSchedulesHaveNothingLeft(t *testing.T) {
	for _, row := range []struct {
		name, invariant string
		cfg             Config
	}{
		{"cache", "effect/silent-duplicate", Config{Preemptions: 1}},
		{"cache", "effect/at-most-once", Config{Strategy: Random, Clients: 4, Faults: 2, Crashes: 1, Expiries: 2, Preemptions: Unbounded, Seed: 3, MaxRuns: 500}},
		{"wait", "effect/at-most-once", Config{Strategy: PCT, Clients: 3, Faults: 2, Crashes: 1, Expiries: 2, Preemptions: Unbounded, Seed: 1, MaxRuns: 2000}},
		{"fenced", "effect/at-most-once", Config{}},
	} {
		cfg := row.cfg
		if cfg.Entry = entry(t, row.name); row.name == "fenced" {
			continue // keeps it
		}
		v := violation(t, cfg, row.invariant)
		s, err := Minimise(t.Context(), cfg, v.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, %d steps, %d harms → %v", row.name, len(v.Schedule.Steps), v.Schedule.Harms(), s.Steps)
		for i := range s.Steps {
			if r, err := Replay(cfg, s.without(i)); err == nil && r.breaks(row.invariant) {
				t.Errorf("%s: without %v it still violates", row.name, s.Steps[i])
			}
			if s.Steps[i].harm() {
				if r, err := cfg.again(s.without(i), lenient); err == nil && r.breaks(row.invariant) {
					t.Errorf("%s: the harm %v is not needed", row.name, s.Steps[i])
				}
			}
		}
		for i := range s.Clients {
			if r, err := cfg.again(s.withoutClient(i), lenient); s.Clients > 1 && err == nil && r.breaks(row.invariant) {
				t.Errorf("%s: client %d is not needed", row.name, i)
			}
		}
	}
}

func TestNearestPassing(t *testing.T) {
	v := violation(t, article(t), "effect/silent-duplicate")
	s, err := Minimise(t.Context(), article(t), v.Schedule)
	if err != nil {
		t.Fatal(err)
	}
	p, ok, err := NearestPassing(t.Context(), article(t), s)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	r, err := Replay(article(t), p.Schedule)
	if err != nil || r.breaks(v.Invariant) {
		t.Errorf("it does not pass: %v %v", err, r.Violated)
	}
	t.Log(p, p.Schedule.Steps)
	if set, get := p.First.What+p.Second.What, "getsetnx done"; set != get {
		t.Errorf("swapped %v and %v; the fault lies between the look-up and the store", p.First, p.Second)
	}
}

func TestStory(t *testing.T) {
	v := violation(t, article(t), "effect/silent-duplicate")
	s, err := Tell(article(t), v.Schedule)
	if err != nil {
		t.Fatal(err)
	}
	if s.Because == "" || s.Token != Encode(v.Schedule) || len(s.Lines) != len(v.Schedule.Steps) {
		t.Errorf("%+v", s)
	}
	for _, width := range []int{40, 60, 80, 120, 200} {
		text := s.Lanes(width)
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width && width >= 60 {
				t.Errorf("width %d: %d columns: %s", width, n, line)
			}
		}
		for _, want := range []string{"ch_2", "nothing there"} {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
				t.Errorf("width %d lacks %q:\n%s", width, want, text)
			}
		}
	}
	t.Log("\n" + s.Lanes(100) + "\n" + s.Mermaid())
	if b, err := json.Marshal(s); err != nil || !strings.Contains(string(b), `"lines":[{"step":{"who":"A","what":"start"}`) {
		t.Errorf("%v %s", err, b)
	}
}

func TestWalk(t *testing.T) {
	k, err := NewWalk(article(t))
	if err != nil {
		t.Fatal(err)
	}
	v := violation(t, article(t), "effect/silent-duplicate")
	for i, step := range v.Schedule.Steps {
		if err := k.Take(step); err != nil {
			t.Fatal(err)
		}
		if i == 3 { // back, and the same again
			if ok, err := k.Back(); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if err := k.Take(Step{Who: "Z"}); !errors.Is(err, ErrDiverged) {
				t.Errorf("a step that is not there: %v", err)
			}
			if err := k.Take(step); err != nil {
				t.Fatal(err)
			}
		}
	}
	if now := k.Now(); len(k.Possible()) > 0 || !now.breaks("effect/silent-duplicate") || len(now.Story().Lines) != len(v.Schedule.Steps) {
		t.Errorf("possible %v, violated %v", k.Possible(), now.Violated)
	}
}

// The same configuration, twice: byte for byte; and the same from one core or two.
func TestSameSeedSameRun(t *testing.T) {
	for _, cfg := range []Config{
		{Faults: 1, Expiries: 1, Preemptions: 2},
		{Strategy: Random, Faults: 1, Expiries: 1, Crashes: 1, Preemptions: Unbounded, Clients: 4, Seed: 42, MaxRuns: 400},
		{Strategy: PCT, Faults: 1, Expiries: 1, Preemptions: Unbounded, Clients: 5, Seed: 42, MaxRuns: 400},
	} {
		cfg.Entry = entry(t, "waiter-runs-anyway")
		var first string
		for i := range 3 {
			cfg.Cores = 1 + i%2
			r, err := Explore(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			r.Took, r.Judged = 0, 0
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(b)
			}
			if string(b) != first {
				t.Errorf("%v: the %d. time\n%s\nfirst\n%s", cfg, i+1, b, first)
			}
		}
		cfg.Seed++
		if r, _ := Explore(t.Context(), cfg); cfg.Strategy != "" && len(r.Found) > 0 {
			r.Took, r.Judged = 0, 0
			if b, _ := json.Marshal(r); string(b) == first {
				t.Errorf("%v: another seed, the same run", cfg)
			}
		}
	}
}
