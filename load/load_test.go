package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// shop is a sender with a ledger: one that makes each effect once, or a cache.
type shop struct {
	ledger *Ledger
	naive  bool
	takes  time.Duration

	mu    sync.Mutex
	done  map[int64]chan struct{}
	known map[int64]bool
}

func (s *shop) Send(_ context.Context, r Request) Reply {
	if r.Other {
		return Reply{Answer: "key-reused"}
	}
	s.mu.Lock()
	if s.known[r.Ref] {
		s.mu.Unlock()
		return Reply{Answer: "ok", Charge: fmt.Sprint(r.Ref)}
	}
	first := s.done[r.Ref] == nil
	if first {
		s.done[r.Ref] = make(chan struct{})
	}
	done := s.done[r.Ref]
	s.mu.Unlock()
	if !first && !s.naive {
		<-done
		return Reply{Answer: "ok", Charge: fmt.Sprint(r.Ref)}
	}
	time.Sleep(s.takes)
	s.ledger.Charge(r.Entry())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[r.Ref] = true
	if first {
		close(done)
	}
	return Reply{Answer: "ok", Charge: fmt.Sprint(r.Ref)}
}

func raced(t *testing.T, naive bool, p Plan) Result {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	l := NewLedger(nil)
	g := Generator{Plan: p, Sender: &shop{ledger: l, naive: naive, takes: 5 * time.Millisecond, done: map[int64]chan struct{}{}, known: map[int64]bool{}},
		Judge: NewJudge(l, DefaultKept, time.Now())}
	return g.Run(t.Context())
}

func plan(pace Pacer, n int64) Plan {
	return Plan{Seed: 1, Pace: pace, Requests: n, Duplicates: 0.2, Payloads: 0.1, Hot: 5, HotShare: 0.05}
}

func TestJudgesWhileItRuns(t *testing.T) {
	for _, pace := range []Pacer{Constant(2000), Clients(20), Bursts{Size: 50, Every: 20 * time.Millisecond}, Ramp{From: 500, To: 3000, Over: 300 * time.Millisecond}} {
		good, bad := raced(t, false, plan(pace, 1500)), raced(t, true, plan(pace, 1500))
		if v := good.Verdicts; len(v.Violated) > 0 || v.Ledger.Doubles != 0 || v.Succeeded != v.Ledger.Refs || good.Sent != 1500 {
			t.Errorf("%v, sound: %+v", pace, v)
		}
		if v := bad.Verdicts; v.Ledger.Doubles == 0 || v.Violated["effect/at-most-once"] != v.Ledger.Doubles {
			t.Errorf("%v, naive: %d double charges, %v", pace, v.Ledger.Doubles, v.Violated)
		}
	}
}

func requests(p Plan) (all []Request) {
	s := p.Start()
	for r, ok := s.Next(0); ok; r, ok = s.Next(0) {
		all = append(all, r)
	}
	return all
}

func TestShardsAreAllOfThePlan(t *testing.T) {
	whole := requests(plan(Constant(1000), 2000))
	for _, shared := range []bool{false, true} {
		var parts []Request
		for i := range 4 {
			p := plan(Constant(1000), 2000)
			p.Shard, p.Shards, p.SharedKeys = i, 4, shared
			mine := requests(p)
			lasts(t, mine)
			parts = append(parts, mine...)
		}
		for i := range parts { // what a shard knows besides
			parts[i].Shared, parts[i].Last = false, false
		}
		for i := range whole {
			whole[i].Last = false
		}
		slices.SortFunc(parts, func(a, b Request) int { return int(a.N - b.N) })
		if !slices.Equal(whole, parts) {
			t.Errorf("shared keys %v: four shards are not the plan", shared)
		}
	}
}

// lasts: of each key exactly the last request says so, or the key is forgotten too soon,
// or never.
func lasts(t *testing.T, all []Request) {
	t.Helper()
	last := map[int64]bool{}
	for _, r := range all {
		if last[r.Ref] {
			t.Fatalf("request %d comes after its key's last", r.N)
		}
		last[r.Ref] = r.Last
	}
	open := 0
	for _, done := range last {
		if !done {
			open++
		}
	}
	if open > len(last)/20 { // the plan ended before their duplicates
		t.Errorf("%d of %d keys have no last request", open, len(last))
	}
}

func TestPlanIsTheSameFromOneSeed(t *testing.T) {
	if p := plan(Constant(1000), 3000); !slices.Equal(requests(p), requests(p)) {
		t.Error("one seed gave two plans")
	}
	at := time.Duration(-1)
	for _, r := range requests(plan(Ramp{From: 10, To: 1000, Over: time.Second}, 3000)) {
		if r.At < at {
			t.Fatalf("request %d leaves at %v, before its predecessor at %v", r.N, r.At, at)
		}
		at = r.At
	}
}
