package explore

import (
	"runtime"
	"testing"
)

// Two clients of wait on the model store, on one core, every schedule of the plain
// search with nothing going wrong, again and again: how fast schedules are run. Their
// ways of ending have been judged the first time.
func BenchmarkSchedules(b *testing.B) {
	cfg := Config{Entry: entry(b, "wait"), Preemptions: Unbounded, NoVisited: true, NoSleep: true, NoSymmetry: true}
	if err := cfg.check(); err != nil {
		b.Fatal(err)
	}
	defer cfg.free()
	s := newSearch(b.Context(), &cfg)
	for b.Loop() {
		if _, err := s.level(free); err != nil {
			b.Fatal(err)
		}
		s.result.Levels = nil
	}
	b.ReportMetric(float64(s.result.Runs)/b.Elapsed().Seconds(), "schedules/s")
	b.ReportMetric(float64(s.result.Steps)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(0, "ns/op")
}

// The same with a fault and a lease that runs out, and all reductions: how fast
// states are told apart, and what one costs.
func BenchmarkStates(b *testing.B) {
	cfg := Config{Entry: entry(b, "wait"), Preemptions: Unbounded, Faults: 1, Expiries: 1}
	states, steps := 0, 0
	for b.Loop() {
		r, err := Explore(b.Context(), cfg)
		if err != nil || !r.Complete {
			b.Fatal(err, r.Why)
		}
		for _, l := range r.Levels {
			states += l.States
		}
		steps += r.Steps
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(bytesPerState(), "bytes/state")
}

// bytesPerState is what the visited set takes for each of a million states.
func bytesPerState() float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const n = 1_000_000
	set := map[digest]uint32{}
	for i := range uint64(n) {
		var d digest
		d.one(i)
		set[d] = 0
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(set)
	return float64(after.HeapAlloc-before.HeapAlloc) / n
}
