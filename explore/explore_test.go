package explore

import (
	"context"
	"slices"
	"testing"

	"github.com/idemrace/idemrace/impl"
)

func entry(t testing.TB, name string) impl.Entry {
	t.Helper()
	e, ok := impl.Lookup(name)
	if !ok {
		t.Fatalf("no coordinator %q", name)
	}
	return e
}

func TestArticleInTwoClients(t *testing.T) {
	r, err := Explore(t.Context(), Config{Entry: entry(t, "cache"), Preemptions: 1})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Found, func(v Violation) bool { return v.Invariant == "effect/silent-duplicate" })
	if !r.Complete || i < 0 {
		t.Fatalf("the article's double charge was not found: %+v", r)
	}
	t.Log(r.Found[i].Schedule)
}

// What wait, raise and fenced guarantee holds in every order of two clients, any
// number of preemptions, one lease that runs out, and one fault or crash. What they do
// not guarantee is found, and told as such.
func TestGuaranteesHold(t *testing.T) {
	for _, name := range []string{"wait", "raise", "fenced"} {
		for _, cfg := range []Config{
			{}, {Expiries: 1}, {Faults: 1, Expiries: 1}, {Crashes: 1, Expiries: 1}, {Faults: 1, HonoursKeys: true}, {Expiries: 1, HonoursKeys: true}, {Faults: 1, Payloads: true}, {HangUps: 1},
		} {
			cfg.Entry, cfg.Preemptions = entry(t, name), Unbounded
			r, err := Explore(t.Context(), cfg)
			if err != nil || !r.Complete {
				t.Fatalf("%v: %v, not complete: %s", cfg, err, r.Why)
			}
			for _, v := range r.Guaranteed() {
				t.Errorf("%v: %s: %s\n%v", cfg, v.Invariant, v.Because, v.Schedule.Steps)
			}
			overruns := name != "fenced" && cfg.Expiries > 0 && !cfg.HonoursKeys
			if found := slices.ContainsFunc(r.Found, func(v Violation) bool { return v.Invariant == "effect/at-most-once" }); overruns && !found {
				t.Errorf("%v: a lease that runs out while charging makes two charges, and that was not found", cfg)
			}
			t.Logf("%v: %d schedules, %d states, %v", cfg, r.Runs, r.States, r.Took)
		}
	}
}

// A bound that cuts the search short is never called complete.
func TestCutShortIsNotComplete(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for why, row := range map[string]struct {
		ctx context.Context
		cfg Config
	}{
		"runs":      {t.Context(), Config{MaxRuns: 10}},
		"states":    {t.Context(), Config{MaxStates: 20}},
		"time":      {t.Context(), Config{MaxTime: 1}},
		"interrupt": {ended, Config{}},
		"sampling":  {t.Context(), Config{Strategy: Random, MaxRuns: 10}},
	} {
		row.cfg.Entry, row.cfg.Preemptions, row.cfg.Faults, row.cfg.Expiries = entry(t, "wait"), Unbounded, 1, 1
		r, err := Explore(row.ctx, row.cfg)
		if err != nil || r.Complete || r.Why == "" {
			t.Errorf("%s: complete %v, %q, %v", why, r.Complete, r.Why, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for why, cfg := range map[string]Config{
		"no coordinator":     {},
		"a negative budget":  {Entry: entry(t, "wait"), Faults: -1},
		"27 clients":         {Entry: entry(t, "wait"), Clients: 27},
		"an unknown word":    {Entry: entry(t, "wait"), Strategy: "lucky"},
		"a store of its own": {Entry: impl.Entry{Name: "x", Unseen: true, New: entry(t, "wait").New}},
	} {
		if _, err := Explore(t.Context(), cfg); err == nil {
			t.Errorf("%s was accepted", why)
		}
	}
}
