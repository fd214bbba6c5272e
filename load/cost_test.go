package load

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"
)

// instant charges each ref once, at once.
type instant struct{ ledger *Ledger }

func (s instant) Send(_ context.Context, r Request) Reply {
	if r.Copy == 0 {
		s.ledger.Charge(r.Entry())
	}
	return Reply{Answer: "ok", Charge: "ch"}
}

// What a request costs the generator and the judge, with ten thousand requests, a hundred
// thousand and a million: time and allocations a request, and what is still held for
// each when all are judged. It grows linearly if the figures stay.
func BenchmarkCost(b *testing.B) {
	for _, n := range []int64{10_000, 100_000, 1_000_000, 5_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var held, allocated float64
			for b.Loop() {
				l := NewLedger(nil)
				judge := NewJudge(l, DefaultKept, time.Now())
				g := Generator{Plan: Plan{Seed: 1, Pace: Clients(8), Requests: n, Duplicates: 0.2, Window: time.Millisecond}, Sender: instant{l}, Judge: judge, Timeline: NewTimeline(time.Second)}
				before := memory()
				r := g.Run(b.Context())
				after := memory()
				if r.Sent != n || len(r.Verdicts.Violated) > 0 {
					b.Fatalf("%d sent, %+v", r.Sent, r.Verdicts)
				}
				held += float64(after.HeapAlloc) - float64(before.HeapAlloc)
				allocated += float64(after.TotalAlloc - before.TotalAlloc)
				runtime.KeepAlive(judge)
				runtime.KeepAlive(r)
			}
			all := float64(n) * float64(b.N)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/all, "ns/request")
			b.ReportMetric(allocated/all, "allocated-B/request")
			b.ReportMetric(held/all, "held-B/request")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
