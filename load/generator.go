package load

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Sender sends one request and returns when its client is answered, has left (the
// context), or can never be answered.
type Sender interface {
	Send(ctx context.Context, r Request) Reply
}

// Histograms record from a microsecond to ten minutes with three digits: what wrk2
// and HdrHistogram's own examples use.
const (
	lowest  = 1         // µs
	highest = 600 * 1e6 // µs
	digits  = 3
)

// Result of a load.
type Result struct {
	Sent        int64                   `json:"sent"`
	Dropped     int64                   `json:"dropped"` // never sent: too many were in flight
	Late        int64                   `json:"late"`    // sent more than LateBy after their time
	Took        time.Duration           `json:"took_ns"`
	Latency     *hdrhistogram.Histogram `json:"-"` // µs, from the intended moment of sending to the answer
	Lateness    *hdrhistogram.Histogram `json:"-"` // µs, of sending
	Verdicts    Verdicts                `json:"verdicts"`
	Interrupted bool                    `json:"interrupted"`
}

// LateBy is from when on a send is late.
const LateBy = time.Millisecond

// Generator keeps a plan's pace.
type Generator struct {
	Plan   Plan
	Sender Sender
	Judge  *Judge
	// MaxInFlight bounds the memory of an open pace whose target has stopped
	// answering; beyond it requests are dropped, and counted. 0 means DefaultInFlight.
	MaxInFlight int
	Progress    func(Snapshot) // asked for every Every; may be nil
	Every       time.Duration
	Timeline    *Timeline // what happened when; may be nil
	Log         *Lines    // the same for HdrHistogram's tools; may be nil
	// Settle is called when the last client has its answer, before the judge's last
	// word: a target may go on with what nobody waits for any more. May be nil.
	Settle func()
}

// DefaultInFlight is more than any target of one machine serves at a time.
const DefaultInFlight = 100_000

// Snapshot is how far a load is.
type Snapshot struct {
	At       time.Duration
	Sent     int64
	Answered int64
	InFlight int64
	P50, P99 time.Duration // since the start
	Doubles  int64
}

// run is one load.
type run struct {
	*Generator
	start   time.Time
	places  chan struct{}
	hands   *hands
	sending sync.WaitGroup

	inFlight atomic.Int64

	mu       sync.Mutex
	result   Result
	answered int64
}

// Run sends the whole plan, waits for the answers and judges. When ctx ends it
// sends no more, and waits for those that are in flight.
func (g *Generator) Run(ctx context.Context) Result {
	if wait := time.Until(g.Plan.Begin); wait > 0 && !g.Plan.Begin.IsZero() {
		pause(ctx, wait)
	}
	r := &run{Generator: g, start: time.Now()}
	if !g.Plan.Begin.IsZero() {
		r.start = g.Plan.Begin // who begins late sends late, and says so
	}
	r.result.Latency = hdrhistogram.New(lowest, highest, digits)
	r.result.Lateness = hdrhistogram.New(lowest, highest, digits)
	r.Timeline.begin(r.start)
	r.Log.begin(r.start)
	stop := r.watch()
	if n := g.Plan.Pace.Closed(); n > 0 {
		r.closed(ctx, n)
	} else {
		r.open(ctx)
	}
	r.sending.Wait()
	stop()
	r.result.Took = max(time.Since(r.start), 0) // ended before it was to begin
	r.Log.end(r.result.Took)
	r.result.Interrupted = ctx.Err() != nil
	if r.Settle != nil {
		r.Settle()
	}
	r.result.Verdicts = g.Judge.End()
	return r.result
}

// open sends each request at its time, whatever has been answered.
func (r *run) open(ctx context.Context) {
	most := r.MaxInFlight
	if most <= 0 {
		most = DefaultInFlight
	}
	r.places = make(chan struct{}, most)
	r.hands = &hands{start: r.sending.Go, do: func(next Request) {
		r.send(ctx, next, next.At)
		<-r.places
	}}
	defer r.hands.rest()
	stream := r.Plan.Start()
	for {
		next, ok := stream.Next(0)
		if !ok || !r.until(ctx, next.At) {
			return
		}
		select {
		case r.places <- struct{}{}:
		default:
			r.drop(next)
			continue
		}
		r.Judge.Sent(next)
		r.hands.send(next)
	}
}

// closed sends from n clients, each as soon as it is answered.
func (r *run) closed(ctx context.Context, n int) {
	stream, end := r.Plan.Start(), r.Plan.For
	var mu sync.Mutex
	next := func() (Request, bool) {
		mu.Lock()
		defer mu.Unlock()
		req, ok := stream.Next(time.Since(r.start))
		if ok {
			r.Judge.Sent(req)
		}
		return req, ok
	}
	for range n {
		r.sending.Go(func() {
			for ctx.Err() == nil && (end <= 0 || time.Since(r.start) < end) {
				req, ok := next()
				if !ok {
					return
				}
				r.send(ctx, req, time.Since(r.start))
			}
		})
	}
	r.sending.Wait()
}

const (
	// near is how long before its time a request is waited for by naps: a timer of a
	// process with connections is late by a millisecond.
	near = 2 * time.Millisecond
	// spin is how long it is waited for by looking at the clock. Longer would take the
	// time from the target.
	spin = 20 * time.Microsecond
)

// until waits for a moment of the plan; false if the load was ended.
func (r *run) until(ctx context.Context, at time.Duration) bool {
	for {
		left := at - time.Since(r.start)
		switch {
		case ctx.Err() != nil:
			return false
		case left <= 0:
			return true
		case left > near:
			pause(ctx, left-near)
		case left > doze+spin:
			nap(left - doze)
		default:
			runtime.Gosched()
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// send sends one request. Latency counts from when it should have left: what waits in
// this process waits for the client, too (no coordinated omission).
func (r *run) send(ctx context.Context, req Request, intended time.Duration) {
	client := context.WithoutCancel(ctx)
	if req.Leave > 0 {
		var leave context.CancelFunc
		client, leave = context.WithTimeout(client, req.Leave)
		defer leave()
	}
	left := time.Since(r.start)
	r.inFlight.Add(1)
	reply := r.Sender.Send(client, req)
	r.inFlight.Add(-1)
	now := time.Since(r.start)
	r.Judge.Answered(req, reply, left, now-left)
	r.Timeline.answered(left, now, now-intended, failed(req, reply))
	r.Log.answered(now, now-intended)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Sent++
	r.answered++
	late := left - intended
	if late > LateBy {
		r.result.Late++
	}
	_ = r.result.Lateness.RecordValue(min(max(late.Microseconds(), lowest), highest))
	_ = r.result.Latency.RecordValue(min(max((now-intended).Microseconds(), lowest), highest))
}

func (r *run) drop(next Request) {
	r.Judge.Dropped(next)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Dropped++
}

// watch tells the progress until it is stopped.
func (r *run) watch() (stop func()) {
	if r.Progress == nil || r.Every <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(r.Every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				r.Progress(r.snapshot())
			}
		}
	})
	return func() { close(done); watching.Wait() }
}

func (r *run) snapshot() Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	us := func(q float64) time.Duration {
		return time.Duration(r.result.Latency.ValueAtQuantile(q)) * time.Microsecond
	}
	return Snapshot{At: time.Since(r.start), Sent: r.result.Sent, Answered: r.answered, InFlight: r.inFlight.Load(),
		P50: us(50), P99: us(99), Doubles: r.Judge.ledger.Totals().Doubles}
}
