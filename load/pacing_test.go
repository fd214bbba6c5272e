package load

import (
	"context"
	"testing"
	"time"
)

type nobody struct{}

func (nobody) Send(context.Context, Request) Reply { return Reply{Answer: "ok"} }

// BenchmarkPace is the lateness of sends alone, with nobody to answer them.
func BenchmarkPace(b *testing.B) {
	for _, rate := range []Constant{500, 5000} {
		b.Run(rate.String(), func(b *testing.B) {
			var late, sent, p99 int64
			for b.Loop() {
				g := Generator{Plan: Plan{Seed: 1, Pace: rate, For: time.Second}, Sender: nobody{}, Judge: NewJudge(NewLedger(nil), 0, time.Now())}
				r := g.Run(b.Context())
				late, sent, p99 = late+r.Late, sent+r.Sent, max(p99, r.Lateness.ValueAtQuantile(99))
			}
			b.ReportMetric(100*(1-float64(late)/float64(sent)), "%in-1ms")
			b.ReportMetric(float64(p99), "µs-late-p99")
			b.ReportMetric(0, "ns/op")
		})
	}
}
