package explore

import (
	"slices"
	"testing"

	"github.com/idemrace/idemrace/impl"
)

// Each pair of brings excuses something that the catalogue's own list does not: else
// it would hide what it need not.
func TestEachExcuseIsNeeded(t *testing.T) {
	type pair struct{ lacked, violated string }
	used := map[pair]string{}
	for _, name := range []string{"wait", "raise", "waiter-runs-anyway", "truncates-keys", "per-process-store", "in-flight-before-mismatch", "swallows-outage"} {
		e, _ := impl.Lookup(name)
		for _, cfg := range []Config{
			{}, {Faults: 1, Expiries: 1}, {Crashes: 1, Expiries: 1}, {Payloads: true, Faults: 1}, {Payloads: true, Expiries: 1, Crashes: 1}, {HangUps: 1}, {Faults: 2},
		} {
			cfg.Entry = e
			cfg.Preemptions, cfg.Cores = Unbounded, 1
			cfg.excused = func(lacked, violated string) { used[pair{lacked, violated}] = e.Name }
			r, err := Explore(t.Context(), cfg)
			if err != nil || !r.Complete {
				t.Fatal(e.Name, err, r.Why)
			}
			for _, v := range r.Guaranteed() {
				if slices.Contains(e.Groups, impl.Zoo) {
					break // what it does beside its fault, the zoo's own table tells
				}
				t.Errorf("%v violates %s, which it guarantees: %s", cfg, v.Invariant, v.Because)
			}
		}
	}
	for _, lacked := range []string{"effect/at-most-once", "effect/accounted"} {
		for _, violated := range brings(lacked) {
			if used[pair{lacked, violated}] == "" {
				t.Errorf("%s: nothing needs the excuse that %s is lacked", violated, lacked)
			}
		}
	}
}
