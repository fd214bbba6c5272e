package explore

import (
	"testing"

	"github.com/idemrace/idemrace/impl"
)

// Each pair of brings excuses something that the catalogue's own list does not: else
// it would hide what it need not.
func TestEachExcuseIsNeeded(t *testing.T) {
	type pair struct{ lacked, violated string }
	used := map[pair]bool{}
	for _, row := range []struct {
		name string
		cfg  Config
	}{
		{"raise", Config{Faults: 1, Expiries: 1}},
		{"raise", Config{Faults: 2}},
		{"raise", Config{Faults: 1, HangUps: 1}},
		{"raise", Config{Faults: 1, Payloads: true}},
		{"per-process-store", Config{HangUps: 1}},
		{"per-process-store", Config{Faults: 1, Payloads: true}},
		{"in-flight-before-mismatch", Config{Crashes: 1, Expiries: 1, Payloads: true}},
		{"swallows-outage", Config{Faults: 1, Payloads: true}},
		{"swallows-outage", Config{Crashes: 1, Expiries: 1}},
		{"waiter-runs-anyway", Config{Faults: 1, Expiries: 1}},
	} {
		cfg := row.cfg
		cfg.Entry, _ = impl.Lookup(row.name)
		cfg.Preemptions, cfg.Cores = Unbounded, 1
		cfg.excused = func(lacked, violated string) { used[pair{lacked, violated}] = true }
		if r, err := Explore(t.Context(), cfg); err != nil || !r.Complete {
			t.Fatal(row.name, err, r.Why)
		}
	}
	for _, lacked := range []string{"effect/at-most-once", "effect/accounted"} {
		for _, violated := range brings(lacked) {
			if !used[pair{lacked, violated}] {
				t.Errorf("%s: nothing needs the excuse that %s is lacked", violated, lacked)
			}
		}
	}
}
