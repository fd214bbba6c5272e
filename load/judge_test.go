package load

import (
	"context"
	"testing"
	"time"
)

// told is a judge that was told of a key's requests, each with its answer.
func told(l *Ledger, all ...any) *Judge {
	j := NewJudge(l, DefaultKept, time.Now())
	for i := 0; i < len(all); i += 2 {
		r := all[i].(Request)
		j.Sent(r)
		j.Answered(r, all[i+1].(Reply), 0, 0)
	}
	return j
}

// A success that names no charge is another answer than one that does, whichever was
// first, and in whichever shard.
func TestSuccessWithoutAChargeDiffers(t *testing.T) {
	first, last := Request{N: 1, Ref: 1, First: true}, Request{N: 2, Ref: 1, Copy: 1, Last: true}
	named, bare := Reply{Answer: "ok", Charge: "ch_1"}, Reply{Answer: "ok"}
	for _, row := range []struct {
		why  string
		a, b Reply
		want int64
	}{{"named twice", named, named, 0}, {"never named", bare, bare, 0}, {"then not", named, bare, 1}, {"then named", bare, named, 1}} {
		l := NewLedger(nil)
		l.Charge(2)
		if v := told(l, first, row.a, last, row.b).End(); v.Violated["answer/replay-equal"] != row.want || v.Succeeded != 1 {
			t.Errorf("%s: %v", row.why, v.Violated)
		}
		one, two := first, last
		one.Shared, two.Shared, one.Last = true, true, true
		v := Verdicts{Violated: map[string]int64{}}
		v.joinShared([]SharedRefs{told(l, one, row.a).End().Shared, told(NewLedger(nil), two, row.b).End().Shared})
		if v.Violated["answer/replay-equal"] != row.want || v.Succeeded != 1 {
			t.Errorf("%s, in two shards: %v", row.why, v.Violated)
		}
	}
}

// slowly is a sender whose first answer comes when the plan is at its end.
type slowly struct{ end chan struct{} }

func (s slowly) Send(context.Context, Request) Reply {
	<-s.end
	return Reply{Answer: "declined"}
}

// lastCall is a pace that says when it is asked for a request beyond the plan's last.
type lastCall struct {
	Constant
	n   int64
	end chan struct{}
}

func (p lastCall) At(n int64) time.Duration {
	if n == p.n {
		close(p.end)
	}
	return p.Constant.At(n)
}

// A key whose last request was dropped is forgotten as well: a target that is too slow
// does not fill the memory.
func TestDroppedKeysAreForgotten(t *testing.T) {
	j := NewJudge(NewLedger(nil), 0, time.Now())
	first, last := Request{N: 1, Ref: 1, First: true}, Request{N: 2, Ref: 1, Copy: 1, Last: true}
	j.Sent(first)
	j.Dropped(last)
	if len(j.open) != 1 {
		t.Error("forgotten before its answer")
	}
	j.Answered(first, Reply{Answer: "declined"}, 0, 0)
	j.Dropped(Request{N: 3, Ref: 2, First: true, Last: true})
	if len(j.open) != 0 {
		t.Errorf("%d keys are kept", len(j.open))
	}

	// A place for one request, and it is taken until all others were dropped.
	end := make(chan struct{})
	p := quick(Plan{Requests: 2000, Duplicates: 1})
	p.Pace = lastCall{Constant(1e6), 2000, end}
	g := Generator{Plan: p, Sender: slowly{end}, Judge: NewJudge(NewLedger(nil), 0, time.Now()), MaxInFlight: 1}
	open := -1
	g.Settle = func() { open = len(g.Judge.open) }
	if r := g.Run(t.Context()); r.Sent != 1 || r.Dropped != 1999 {
		t.Fatalf("%d sent, %d dropped", r.Sent, r.Dropped)
	}
	if open != 0 {
		t.Errorf("%d keys are kept", open)
	}
}
