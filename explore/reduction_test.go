package explore

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/impl"
)

// smallCases are the configurations whose every schedule can be run: each
// coordinator under each single harm, and some in pairs.
func smallCases() []Config {
	var all []Config
	add := func(name string, budgets ...Config) {
		for _, b := range budgets {
			b.Entry, _ = impl.Lookup(name)
			b.Preemptions = Unbounded
			all = append(all, b)
		}
	}
	singles := []Config{{}, {Faults: 1}, {Crashes: 1}, {Expiries: 1}, {Payloads: true}, {HonoursKeys: true, Expiries: 1}, {HangUps: 1}}
	for _, e := range impl.All() {
		if !e.Unseen {
			add(e.Name, singles...)
		}
	}
	pairs := []Config{{Faults: 1, Expiries: 1}, {Crashes: 1, Expiries: 1}, {Payloads: true, Crashes: 1}, {Payloads: true, Expiries: 1}}
	for _, name := range []string{"cache", "wait", "raise", "fenced", "waiter-runs-anyway", "stale-takeover"} {
		add(name, pairs...)
	}
	// Three clients are too many for plain search without a bound on preemptions.
	for _, name := range []string{"cache", "wait", "raise", "fenced", "claim-overwrites", "waiter-runs-anyway"} {
		for _, c := range []Config{{}, {Payloads: true}, {Crashes: 1}, {Faults: 1}, {Expiries: 1}} {
			for n := range 2 {
				c.Entry, _ = impl.Lookup(name)
				c.Clients, c.Preemptions = 3, n
				all = append(all, c)
			}
		}
	}
	return all
}

func (c Config) String() string {
	return fmt.Sprintf("%s clients=%d payloads=%v keys=%v faults=%d crashes=%d expiries=%d hangups=%d preemptions=%d",
		c.Entry.Name, c.Clients, c.Payloads, c.HonoursKeys, c.Faults, c.Crashes, c.Expiries, c.HangUps, c.Preemptions)
}

// nameless is the outcomes with alike clients in no order: symmetry leaves out those
// that are another's under other names.
func nameless(r Result, payloads bool) []string {
	var all []string
	for _, text := range r.Outcomes {
		parts := strings.Split(text, "; ")
		var clients, ledger []string
		for _, p := range parts {
			if strings.HasPrefix(p, "ch_") {
				ledger = append(ledger, p)
			} else {
				clients = append(clients, p[2:])
			}
		}
		alike := clients
		if payloads {
			alike = clients[:len(clients)-1]
		}
		slices.Sort(alike)
		all = append(all, strings.Join(append(clients, ledger...), "; "))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func violated(r Result) []string {
	var all []string
	for _, v := range r.Found {
		all = append(all, fmt.Sprintf("%s guaranteed=%v", v.Invariant, v.Guaranteed))
	}
	slices.Sort(all)
	return all
}

// thorough compares five times as much, in a minute and a half.
var thorough = flag.Bool("thorough", false, "compare larger configurations with plain search")

// plainLimit is how many schedules plain search may make; a case with more is left
// out, and counted.
func plainLimit() int {
	if *thorough {
		return 2000
	}
	return 200
}

// Every reduction, alone and together, ends in the same ways and finds the same as
// plain depth-first search. And a schedule's verdict depends on nothing but the
// state in which it ends: each schedule of the plain search is judged by itself.
func TestReductionsAgreeWithPlainSearch(t *testing.T) {
	modes := map[string]func(*Config){
		"all reductions": func(*Config) {},
		"visited only":   func(c *Config) { c.NoSleep, c.NoSymmetry = true, true },
		"sleep only":     func(c *Config) { c.NoVisited, c.NoSymmetry = true, true },
		"symmetry only":  func(c *Config) { c.NoVisited, c.NoSleep = true, true },
		"no symmetry":    func(c *Config) { c.NoSymmetry = true },
	}
	compared, left, schedules := 0, 0, 0
	for _, c := range smallCases() {
		plain := c
		plain.NoVisited, plain.NoSleep, plain.NoSymmetry, plain.MaxRuns = true, true, true, plainLimit()
		same := sameVerdicts(t, &plain)
		want, err := Explore(t.Context(), plain)
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if !want.Complete {
			left++
			continue
		}
		compared++
		schedules += want.Runs
		if !same() {
			t.Errorf("%v: schedules that end in one state have different verdicts", c)
		}
		for name, set := range modes {
			reduced := c
			set(&reduced)
			alike := func() bool { return true }
			if name == "symmetry only" {
				alike = sameVerdicts(t, &reduced)
			}
			got, err := Explore(t.Context(), reduced)
			if err != nil || !got.Complete {
				t.Fatalf("%v, %s: %v %s", c, name, err, got.Why)
			}
			if !alike() {
				t.Errorf("%v: schedules that end in one state, but for who is who, have different verdicts", c)
			}
			if w, g := nameless(want, c.Payloads), nameless(got, c.Payloads); !slices.Equal(w, g) {
				t.Errorf("%v, %s: outcomes differ\nwant %q\n got %q", c, name, w, g)
			}
			if w, g := violated(want), violated(got); !slices.Equal(w, g) {
				t.Errorf("%v, %s: found\n%q, plain search\n%q", c, name, g, w)
			}
		}
	}
	t.Logf("%d configurations compared in %d modes, %d plain schedules; %d had more than %d", compared, len(modes), schedules, left, plainLimit())
	if compared < 50 {
		t.Errorf("only %d configurations were compared", compared)
	}
}

// sameVerdicts judges every schedule, and tells whether those of one state agreed.
func sameVerdicts(t *testing.T, c *Config) func() bool {
	t.Helper()
	known := map[digest]string{}
	first := map[digest][]Choice{}
	same := true
	judging := *c
	if err := judging.check(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(judging.free)
	runs := 0
	c.finished = func(w *world) {
		if runs++; runs > plainLimit()/3 && runs%7 > 0 {
			return // enough: the many are much alike
		}
		h := w.ending()
		rec, hist := record(&judging, w.chosen)
		var ids []string
		for _, f := range check.Judge(hist) {
			if f.Verdict == check.Violated {
				ids = append(ids, f.Invariant)
			}
		}
		text := strings.Join(ids, " ")
		before, met := known[h]
		if !met {
			known[h], first[h] = text, slices.Clone(w.chosen)
		} else if before != text && same {
			same = false
			other, _ := record(&judging, first[h])
			t.Logf("%v:\n%v\n  %s\n%v\n  %s", c, other.steps, before, rec.steps, text)
		}
	}
	return func() bool { return same }
}
