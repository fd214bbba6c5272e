// Package load sends at a pace that does not depend on what comes back, and judges
// every key while it does.
//
// A plan, made from one seed, says which request is sent when: new keys, duplicates
// in flight, just after and later, other payloads under a key, clients that leave. A
// generator keeps that pace and takes latency from the moment a request should have
// left; a ledger counts what was charged with a few bits a ref. The package refuses to
// hide what it could not do: late and dropped sends are counted. It knows neither
// coordinators nor sockets: see Sender.
package load

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Plan says what is sent. Shares are of 1.
type Plan struct {
	Seed int64
	Pace Pacer
	// For ends the plan after this time, Requests after so many; one of them is
	// given. Whichever comes first counts.
	For      time.Duration
	Requests int64

	Duplicates float64 // of new keys that get duplicates
	FanOut     int     // duplicates of such a key; 0 means 1
	// When the duplicates come: shares of InFlight (within Window of the first),
	// JustAfter (within another Window) and Later (after LaterBy). What is left of 1
	// goes to InFlight.
	JustAfter, Later float64
	Window           time.Duration // 0 means DefaultWindow
	LaterBy          time.Duration // 0 means DefaultLaterBy

	Hot      int     // that many keys are asked for again and again
	HotShare float64 // of all requests
	Payloads float64 // of duplicates that come with another amount
	Aborts   float64 // of requests whose client leaves within Window

	// Shard of Shards, counted from 0: the keys that fall to it with all their requests,
	// or with SharedKeys a part of each key's requests, the duplicates going to the shards
	// after the first one's in turn, so that the shards race each other. 0 of 0 means all.
	Shard, Shards int
	SharedKeys    bool
	// Begin is when an open pace begins; zero: at once. Shards begin together.
	Begin time.Time
	// Run is in the names of keys of shards that share them: alike in all shards, and new
	// in each run.
	Run string
}

// Defaults of a Plan.
const (
	DefaultWindow  = 20 * time.Millisecond
	DefaultLaterBy = time.Second
)

// Bounds of a Plan.
const (
	MaxFanOut = 10_000
	MaxHot    = 1 << 30 // refs are counted from there on
	MaxWindow = 24 * time.Hour
)

// Request is one planned sending.
type Request struct {
	N     int64         // from 1, in order of sending
	At    time.Duration // since the plan's start: when it should leave
	Ref   int64         // of the logical operation; key and ref are made of it
	Other bool          // another payload under the ref's key: its own ref is Ref with a mark
	Rival bool          // the key comes with another payload too, in this request or in one of its duplicates
	Copy  int           // 0: the key's first request; 1, 2, …: its duplicates
	Hot   bool
	// Shared: other shards send this key, too.
	Shared bool
	First  bool          // nobody has sent that key before
	Last   bool          // nobody will send that key again
	Leave  time.Duration // the client leaves after this; 0: it stays
}

// Entry is where the ledger counts the request's charges: a key's other payload is
// another logical operation.
func (r Request) Entry() int64 {
	if r.Other {
		return 2*r.Ref + 1
	}
	return 2 * r.Ref
}

// Check refuses a plan that cannot be made.
func (p Plan) Check() error {
	if err := checkPace(p.Pace); err != nil {
		return err
	}
	switch {
	case p.For <= 0 && p.Requests <= 0:
		return fmt.Errorf("load: a plan needs an end: a time or a number of requests")
	case p.FanOut < 0, p.Hot < 0, p.Requests < 0, p.For < 0:
		return fmt.Errorf("load: a number is negative")
	case p.FanOut > MaxFanOut:
		return fmt.Errorf("load: a fan-out of %d; at most %d duplicates of a key", p.FanOut, MaxFanOut)
	case p.Hot > MaxHot:
		return fmt.Errorf("load: %d hot keys; at most %d", p.Hot, MaxHot)
	case p.Window < 0, p.Window > MaxWindow, p.LaterBy < 0, p.LaterBy > MaxWindow:
		return fmt.Errorf("load: a window of %v, and duplicates later by %v; each is at most %v", p.Window, p.LaterBy, MaxWindow)
	case p.Shards > 1 && p.Pace.Closed() > 0:
		return fmt.Errorf("load: a closed pace goes by its answers, so that shards have no common plan; give a rate")
	case p.Shards > 0 && (p.Shard < 0 || p.Shard >= p.Shards):
		return fmt.Errorf("load: shard %d of %d: shards are counted from 0", p.Shard, p.Shards)
	}
	for _, s := range []struct {
		name string
		of   float64
	}{{"duplicates", p.Duplicates}, {"just-after", p.JustAfter}, {"later", p.Later}, {"hot share", p.HotShare}, {"payloads", p.Payloads}, {"aborts", p.Aborts}, {"just-after and later", p.JustAfter + p.Later}} {
		if !(s.of >= 0 && s.of <= 1) { // NaN is neither
			return fmt.Errorf("load: %s is %v; a share is from 0 to 1", s.name, s.of)
		}
	}
	return nil
}

// Stream gives the plan's requests in order of their time, the same each time.
type Stream struct {
	p    Plan
	rng  *rand.Rand
	n    int64
	refs int64
	due  dues
	zipf *rand.Zipf
	hot  map[int64]int // how often a hot ref was sent
}

// hotSkew is the exponent of the hot keys' distribution: a few are very hot.
const hotSkew = 1.2

// Start begins the plan.
func (p Plan) Start() *Stream {
	s := &Stream{p: p, rng: rand.New(rand.NewPCG(uint64(p.Seed), 0x1d)), hot: map[int64]int{}}
	if p.Hot > 0 {
		s.zipf = rand.NewZipf(s.rng, hotSkew, 1, uint64(p.Hot-1))
		s.refs = int64(p.Hot) // the first refs are the hot ones
	}
	return s
}

// Next is the next request of this shard; ok is false at the plan's end. now is the
// time since the start, which a closed pace takes for the request's.
func (s *Stream) Next(now time.Duration) (r Request, ok bool) {
	for {
		r, ok = s.next(now)
		if !ok || s.mine(r) {
			return r, ok
		}
	}
}

func (s *Stream) mine(r Request) bool {
	switch {
	case s.p.Shards <= 1:
		return true
	case s.p.SharedKeys:
		return s.p.shardOf(r.Ref, r.Copy) == s.p.Shard
	}
	return r.Ref%int64(s.p.Shards) == int64(s.p.Shard)
}

func (s *Stream) next(now time.Duration) (Request, bool) {
	at := s.p.Pace.At(s.n)
	if s.p.Pace.Closed() > 0 {
		at = now
	}
	if s.p.Requests > 0 && s.n >= s.p.Requests || s.p.For > 0 && at >= s.p.For {
		return Request{}, false
	}
	s.n++
	r := s.pick(at)
	r.N, r.At = s.n, at
	if s.p.Aborts > 0 && s.rng.Float64() < s.p.Aborts {
		r.Leave = time.Duration(s.rng.Float64() * float64(s.window()))
	}
	return r, true
}

// pick: a duplicate that is due, a hot key, or a new one.
func (s *Stream) pick(at time.Duration) Request {
	if len(s.due) > 0 && s.due[0].At <= at {
		return heap.Pop(&s.due).(Request)
	}
	if s.zipf != nil && s.rng.Float64() < s.p.HotShare {
		ref := int64(s.zipf.Uint64()) + 1
		n := s.hot[ref]
		s.hot[ref]++
		return Request{Ref: ref, Hot: true, First: n == 0, Copy: n, Shared: s.p.shares()}
	}
	s.refs++
	r := Request{Ref: s.refs, First: true, Last: true}
	if s.rng.Float64() < s.p.Duplicates {
		s.duplicate(at, &r)
	}
	return r
}

// duplicate plans a key's duplicates.
func (s *Stream) duplicate(at time.Duration, r *Request) {
	r.Last = false
	fan := max(s.p.FanOut, 1)
	copies := make([]Request, fan)
	for i := range copies {
		copies[i] = Request{Ref: r.Ref, At: max(at, at+s.delay()), Other: s.rng.Float64() < s.p.Payloads}
		r.Rival = r.Rival || copies[i].Other
	}
	slices.SortFunc(copies, func(a, b Request) int { return cmp.Compare(a.At, b.At) })
	r.Shared = s.p.shares()
	for i, d := range copies {
		d.Copy, d.Last, d.Rival, d.Shared = i+1, i == fan-1, r.Rival, r.Shared
		if d.Shared { // the last that this shard sends
			d.Last = i+s.p.Shards >= fan
		}
		heap.Push(&s.due, d)
	}
	if r.Shared {
		r.Last = fan < s.p.Shards // no duplicate comes back to its shard
	}
}

// shares: keys may be sent by several shards.
func (p Plan) shares() bool { return p.SharedKeys && p.Shards > 1 }

// ShardName tells what one of several shards makes from what others make; "" for a
// whole plan.
func (p Plan) ShardName() string {
	if p.Shards < 2 {
		return ""
	}
	return fmt.Sprintf("%d-", p.Shard)
}

// shardOf is who sends a request, where keys are shared.
func (p Plan) shardOf(ref int64, copy int) int {
	return int((ref + int64(copy)) % int64(p.Shards))
}

func (s *Stream) delay() time.Duration {
	window := float64(s.window())
	switch kind := s.rng.Float64(); {
	case kind < s.p.Later:
		return s.laterBy() + time.Duration(s.rng.Float64()*window)
	case kind < s.p.Later+s.p.JustAfter:
		return time.Duration(window * (1 + s.rng.Float64()))
	}
	return time.Duration(s.rng.Float64() * window)
}

func (s *Stream) window() time.Duration {
	if s.p.Window > 0 {
		return s.p.Window
	}
	return DefaultWindow
}

func (s *Stream) laterBy() time.Duration {
	if s.p.LaterBy > 0 {
		return s.p.LaterBy
	}
	return DefaultLaterBy
}

// dues is a heap of duplicates by time.
type dues []Request

func (d dues) Len() int { return len(d) }
func (d dues) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(d[i].At, d[j].At), cmp.Compare(d[i].Copy, d[j].Copy)) < 0
}
func (d dues) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *dues) Push(x any)   { *d = append(*d, x.(Request)) }
func (d *dues) Pop() any {
	old := *d
	last := old[len(old)-1]
	*d = old[:len(old)-1]
	return last
}
