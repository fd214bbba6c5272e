package load

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
)

// Pacer says when the n-th request should leave, n from 0.
type Pacer interface {
	At(n int64) time.Duration
	// Closed is how many clients send, each as soon as it is answered; 0: the pace is
	// open, and does not wait for answers.
	Closed() int
	String() string
}

// Constant is a rate in requests per second.
type Constant float64

// At is the n-th multiple of the interval.
func (c Constant) At(n int64) time.Duration {
	return moment(float64(n) / float64(c))
}

// moment is a time in seconds; what is beyond all times is the last one.
func moment(seconds float64) time.Duration {
	if !(seconds < time.Duration(math.MaxInt64).Seconds()) {
		return math.MaxInt64
	}
	return time.Duration(seconds * float64(time.Second))
}

// Closed is 0: the pace is open.
func (c Constant) Closed() int    { return 0 }
func (c Constant) String() string { return fmt.Sprintf("%g/s", float64(c)) }

// Ramp goes from one rate to another, and stays there.
type Ramp struct {
	From, To float64 // requests per second
	Over     time.Duration
}

// At solves From·t + (To−From)·t²/(2·Over) = n for t.
func (r Ramp) At(n int64) time.Duration {
	over := r.Over.Seconds()
	inRamp := (r.From + r.To) / 2 * over
	if float64(n) >= inRamp {
		return moment(over + (float64(n)-inRamp)/r.To)
	}
	slope := (r.To - r.From) / over
	t := float64(n) / r.From
	if slope != 0 {
		t = (math.Sqrt(max(r.From*r.From+2*slope*float64(n), 0)) - r.From) / slope
	}
	return moment(t)
}

// Closed is 0.
func (r Ramp) Closed() int    { return 0 }
func (r Ramp) String() string { return fmt.Sprintf("%g/s to %g/s over %v", r.From, r.To, r.Over) }

// Bursts are Size requests in one moment, every Every.
type Bursts struct {
	Size  int64
	Every time.Duration
}

// At is the burst's moment.
func (b Bursts) At(n int64) time.Duration {
	if n/b.Size > math.MaxInt64/int64(b.Every) {
		return math.MaxInt64
	}
	return time.Duration(n/b.Size) * b.Every
}

// Closed is 0.
func (b Bursts) Closed() int    { return 0 }
func (b Bursts) String() string { return fmt.Sprintf("%d every %v", b.Size, b.Every) }

// Clients are so many that each send as soon as they are answered. It measures
// what a target can do, not what its users see: a slow answer delays the next
// request.
type Clients int

// At is 0: as soon as possible.
func (c Clients) At(int64) time.Duration { return 0 }

// Closed is how many there are.
func (c Clients) Closed() int    { return int(c) }
func (c Clients) String() string { return fmt.Sprintf("%d clients", int(c)) }

// Bounds of a pace. Beyond them a plan has no times, or a process no memory.
const (
	MinRate   = 1e-6 // requests per second: one in eleven days
	MaxRate   = 1e9
	MaxAtOnce = DefaultInFlight // clients, and requests of a burst
)

// checkPace refuses a pace by which nothing can be sent.
func checkPace(p Pacer) error {
	rate := func(r float64) error {
		if r >= MinRate && r <= MaxRate { // NaN is neither
			return nil
		}
		return fmt.Errorf("load: a rate of %g a second; it is from %g to %g", r, MinRate, MaxRate)
	}
	switch p := p.(type) {
	case nil:
		return errors.New("load: a plan needs a pace")
	case Constant:
		return rate(float64(p))
	case Ramp:
		if p.Over <= 0 {
			return errors.New("load: a ramp needs some time")
		}
		return cmp.Or(rate(p.From), rate(p.To))
	case Bursts:
		if p.Size < 1 || p.Size > MaxAtOnce || p.Every <= 0 {
			return fmt.Errorf("load: bursts of %d every %v; from 1 to %d at once, with a pause between them", p.Size, p.Every, MaxAtOnce)
		}
	case Clients:
		if p < 1 || p > MaxAtOnce {
			return fmt.Errorf("load: %d clients; from 1 to %d", int(p), MaxAtOnce)
		}
	}
	return nil
}
