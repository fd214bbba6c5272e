package load

import (
	"context"
	"math"
	"testing"
	"time"
)

// A plan whose numbers cannot be meant is refused; by such a one nothing would ever be
// sent, or without end.
func TestCheckRefusesWhatCannotBeMeant(t *testing.T) {
	nan, inf, long := math.NaN(), math.Inf(1), time.Duration(math.MaxInt64)
	good := Plan{Pace: Constant(1), For: time.Second}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	var all []Plan
	for _, pace := range []Pacer{nil, Constant(nan), Constant(inf), Constant(0), Constant(-1), Constant(1e300), Constant(1e-300),
		Ramp{1, inf, 1}, Ramp{nan, 1, 1}, Ramp{1, 1, 0}, Ramp{1, 1e-300, 1}, Bursts{0, 1}, Bursts{1, 0}, Bursts{math.MaxInt64, 1}, Clients(0), Clients(-1), Clients(math.MaxInt)} {
		p := good
		p.Pace = pace
		all = append(all, p)
	}
	for _, change := range []func(*Plan){
		func(p *Plan) { p.For = 0 }, func(p *Plan) { p.FanOut = math.MaxInt }, func(p *Plan) { p.FanOut = -1 }, func(p *Plan) { p.Hot = math.MaxInt },
		func(p *Plan) { p.Window = long }, func(p *Plan) { p.Window = -1 }, func(p *Plan) { p.LaterBy = long }, func(p *Plan) { p.LaterBy = -1 },
		func(p *Plan) { p.Duplicates = nan }, func(p *Plan) { p.JustAfter = nan }, func(p *Plan) { p.Later = inf }, func(p *Plan) { p.HotShare = nan },
		func(p *Plan) { p.Payloads = -1 }, func(p *Plan) { p.Aborts = nan },
	} {
		p := good
		change(&p)
		all = append(all, p)
	}
	for _, p := range all {
		if err := p.Check(); err == nil {
			t.Errorf("not refused: %+v", p)
		}
	}
}

// At the ends of what Check allows, times do not go round.
func TestTimesDoNotGoRound(t *testing.T) {
	for _, pace := range []Pacer{Constant(MinRate), Constant(MaxRate), Ramp{MaxRate, MinRate, 1}, Ramp{MinRate, MaxRate, math.MaxInt64}, Bursts{1, math.MaxInt64}} {
		last := time.Duration(0)
		for _, n := range []int64{0, 1, 2, 3, 1e3, 1e6, 1e12, math.MaxInt64} {
			at := pace.At(n)
			if at < last {
				t.Errorf("%v: request %d at %v, before %v", pace, n, at, last)
			}
			last = at
		}
	}
	p := Plan{Pace: Bursts{1, math.MaxInt64}, Requests: 3, Duplicates: 1, Later: 1, LaterBy: MaxWindow}
	for stream := p.Start(); ; {
		r, ok := stream.Next(0)
		if !ok {
			break
		}
		if r.At < 0 {
			t.Errorf("%+v", r)
		}
	}
}

// A load that is ended before its time to begin has taken no time, and sent nothing.
func TestEndedBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := Generator{Plan: Plan{Pace: Constant(1), For: time.Second, Begin: time.Now().Add(time.Hour)}, Sender: nobody{}, Judge: NewJudge(NewLedger(nil), 0, time.Now())}
	if r := g.Run(ctx); r.Sent != 0 || r.Took != 0 || !r.Interrupted {
		t.Errorf("%+v", r)
	}
}
