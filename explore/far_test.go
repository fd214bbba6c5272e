package explore

import (
	"fmt"
	"strings"
	"testing"
)

const (
	farStart = "<!-- made by go test ./explore -run HowFar -thorough -update -->\n"
	farHead  = "| Clients | What may happen | | Schedules | States |\n| ---: | --- | --- | ---: | ---: |\n"
)

// searched are the bounds within which docs/explore.md says that wait, raise and fenced
// keep what they guarantee. Three clients take half a minute.
func searched() []Config {
	all := []Config{
		{Faults: 1, Expiries: 1}, {Crashes: 1, Expiries: 1}, {Faults: 1, Crashes: 1, Expiries: 1}, {Faults: 1, Expiries: 1, HonoursKeys: true},
	}
	if *thorough {
		all = append(all, Config{Clients: 3, Faults: 1, Expiries: 1}, Config{Clients: 3, Crashes: 1, Expiries: 1}, Config{Clients: 3, Faults: 1, Expiries: 1, HonoursKeys: true},
			Config{Faults: 2, Expiries: 2}, Config{Faults: 2, Expiries: 2, HonoursKeys: true})
	}
	return all
}

// What the three guarantee holds in every schedule of the bounds that are searched; and
// docs/explore.md has the figures.
func TestHowFarGuaranteesWereSearched(t *testing.T) {
	var rows strings.Builder
	for _, cfg := range searched() {
		cfg.Preemptions = Unbounded
		for _, name := range []string{"wait", "raise", "fenced"} {
			cfg.Entry = entry(t, name)
			r, err := Explore(t.Context(), cfg)
			if err != nil || !r.Complete {
				t.Fatal(name, err, r.Why)
			}
			for _, v := range r.Guaranteed() {
				t.Errorf("%v: %s: %s", cfg, v.Invariant, v.Because)
			}
			last := r.Levels[len(r.Levels)-1]
			fmt.Fprintf(&rows, "| %d | %s | `%s` | %s | %s |\n", max(cfg.Clients, DefaultClients), happens(cfg), name, thousands(last.Runs), thousands(last.States))
		}
	}
	golden(t, "../docs/explore.md", farStart, farHead, tableEnd, rows.String(), *thorough)
}

func happens(c Config) string {
	all := []string{}
	for _, b := range []struct {
		n         int
		one, many string
	}{{c.Faults, "fault", "faults"}, {c.Crashes, "crash", "crashes"}, {c.Expiries, "expiry", "expiries"}} {
		if b.n > 0 {
			all = append(all, count(b.n, b.one, b.many))
		}
	}
	if c.HonoursKeys {
		all = append(all, "the provider honours keys")
	}
	return strings.Join(all, ", ")
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
