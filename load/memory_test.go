package load

import (
	"testing"
	"time"
)

// What a load keeps of a request that is answered are bits in the ledger: half a byte
// for a ref's two entries, in pages of 16 thousand entries.
func TestMemoryIsTheLedgers(t *testing.T) {
	const n = 200_000
	for _, p := range []Plan{{}, {Hot: 20, HotShare: 0.1}} {
		l := NewLedger(nil)
		p.Seed, p.Pace, p.Requests, p.Duplicates = 1, Clients(8), n, 0.25
		p.Window = 100 * time.Microsecond
		g := Generator{Plan: p, Sender: instant{l}, Judge: NewJudge(l, DefaultKept, time.Now())}
		open, pages := 0, 0
		g.Settle = func() { open, pages = len(g.Judge.open), len(l.pages) }
		if r := g.Run(t.Context()); r.Sent != n {
			t.Fatalf("%d sent", r.Sent)
		}
		if most := 2*n/perPage + 1; pages > most || pages < most/2 {
			t.Errorf("%d pages for %d requests; %d are enough", pages, n, most)
		}
		if open > p.Hot+n/400 { // some keys' duplicates are beyond the plan's end
			t.Errorf("%d keys are remembered", open)
		}
	}
}
