package load

import (
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
	return time.Duration(float64(n) / float64(c) * float64(time.Second))
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
		return r.Over + time.Duration((float64(n)-inRamp)/r.To*float64(time.Second))
	}
	slope := (r.To - r.From) / over
	t := float64(n) / r.From
	if slope != 0 {
		t = (math.Sqrt(r.From*r.From+2*slope*float64(n)) - r.From) / slope
	}
	return time.Duration(t * float64(time.Second))
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
func (b Bursts) At(n int64) time.Duration { return time.Duration(n/b.Size) * b.Every }

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
