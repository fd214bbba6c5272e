package explore
import ("testing";"time")
func TestProf3(t *testing.T) {
  for _, n := range []string{"fenced", "raise", "wait"} {
	cfg := Config{Entry: entry(t, n), Clients: 3, Preemptions: Unbounded, Faults: 1, Expiries: 1}
	b := time.Now()
	r, err := Explore(t.Context(), cfg)
	t.Log(err, n, r.Runs, r.Steps, r.States, r.Why, time.Since(b), r.Judged, len(r.Outcomes), len(r.Found))
	}
}
