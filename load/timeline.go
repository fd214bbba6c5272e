package load

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/idemrace/idemrace/history"
)

// Timeline counts what happened when, in slots of equal length. A load that lasts
// longer than its slots gets slots of twice the length: memory stays flat. It is safe
// for concurrent use, and nil keeps nothing.
type Timeline struct {
	mu    sync.Mutex
	start time.Time
	step  time.Duration
	slots []*slot
	// joined: it is of shards' processes, the largest of them; this one's memory is of
	// no interest.
	joined bool
}

// slot is one step of a load.
type slot struct {
	sent, answers, errors, doubles int64
	resident                       int64                   // bytes that this process had when the slot began
	latency                        *hdrhistogram.Histogram // µs
}

const (
	// maxSlots fit on a screen.
	maxSlots = 60
	// slotDigits: two are enough for a column, and a slot has some 25 KB then.
	slotDigits = 2
	// minStep: below it a slot of an ordinary rate holds too little for a p99.
	minStep = 100 * time.Millisecond
)

// StepFor is a slot's length for a load of that length: a tenth of it up to ten
// seconds, and from there on a second. Zero, a load without an end, is long.
func StepFor(span time.Duration) time.Duration {
	if span <= 0 || span >= 10*time.Second {
		return time.Second
	}
	return max(span/10, minStep)
}

// NewTimeline has slots of a step.
func NewTimeline(step time.Duration) *Timeline { return &Timeline{step: step, start: time.Now()} }

func (t *Timeline) begin(start time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.start = start
}

// Charged is for NewLedger: it counts a ref's second charge.
func (t *Timeline) Charged(_ int64, n int) {
	if t == nil || n != 2 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at(time.Since(t.start)).doubles++
}

// answered enters one request: when it left, when its client was answered, both since
// the start, and how long that was from the intended moment.
func (t *Timeline) answered(left, at, took time.Duration, failed bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at(left).sent++
	s := t.at(at)
	s.answers++
	if failed {
		s.errors++
	}
	if s.latency == nil {
		s.latency = hdrhistogram.New(lowest, highest, slotDigits)
	}
	_ = s.latency.RecordValue(min(max(took.Microseconds(), lowest), highest))
}

// at is the slot of a moment.
func (t *Timeline) at(moment time.Duration) *slot {
	for moment >= maxSlots*t.step {
		t.fold()
	}
	i := int(max(moment, 0) / t.step)
	for len(t.slots) <= i {
		next := &slot{}
		if !t.joined {
			next.resident = resident()
		}
		t.slots = append(t.slots, next)
	}
	return t.slots[i]
}

// fold makes one slot of two.
func (t *Timeline) fold() {
	t.step *= 2
	var half []*slot
	for i, s := range t.slots {
		if i%2 == 0 {
			half = append(half, s)
		} else {
			half[i/2].add(s)
		}
	}
	t.slots = half
}

func (s *slot) add(o *slot) {
	s.sent, s.answers, s.errors, s.doubles = s.sent+o.sent, s.answers+o.answers, s.errors+o.errors, s.doubles+o.doubles
	s.resident = max(s.resident, o.resident)
	switch {
	case s.latency == nil:
		s.latency = o.latency
	case o.latency != nil:
		s.latency.Merge(o.latency)
	}
}

// failed: an answer that its client had no reason to expect. Nobody waits for what he
// does not want, and a key that comes with another payload is refused.
func failed(r Request, a Reply) bool {
	switch a.Answer {
	case history.OK, history.InProgress:
		return false
	case history.KeyReused:
		return !r.Rival
	case history.HungUp:
		return r.Leave == 0
	}
	return true
}

// Moment is a slot for people. Times are milliseconds.
type Moment struct {
	At       float64 `json:"at_ms"` // since the load's start; it lasts until the next one
	Sent     int64   `json:"sent"`
	Answered int64   `json:"answered"`
	Errors   int64   `json:"errors"` // of those answered; a refusal that was to be expected is none
	Doubles  int64   `json:"double_charges"`
	P50      float64 `json:"p50_ms"` // of those answered
	P99      float64 `json:"p99_ms"`
	Resident int64   `json:"resident_bytes,omitempty"` // memory of the load's process when the moment began; 0: not known
}

// Moments are the slots so far, in order.
func (t *Timeline) Moments() []Moment {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Moment, 0, len(t.slots))
	for i, s := range t.slots {
		all = append(all, s.moment(time.Duration(i)*t.step))
	}
	return all
}

func (s *slot) moment(at time.Duration) Moment {
	m := Moment{At: ms(at), Sent: s.sent, Answered: s.answers, Errors: s.errors, Doubles: s.doubles, Resident: s.resident}
	if s.latency != nil {
		m.P50, m.P99 = float64(s.latency.ValueAtQuantile(50))/1000, float64(s.latency.ValueAtQuantile(99))/1000
	}
	return m
}

// Step is a slot's length now.
func (t *Timeline) Step() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.step
}

// Recovery says whether a load went on after its last fault as it had before the first.
type Recovery struct {
	Recovered bool    `json:"recovered"`
	After     float64 `json:"after_ms"`      // from the last fault's end to the slot from which on all was well
	Why       string  `json:"why,omitempty"` // it did not
}

const (
	// slowTimes and slowBy: a p99 up to twice the one before, or 20 ms more, is the
	// noise of a machine that others use.
	slowTimes = 2
	slowBy    = 20 // ms
	// moreErrors is the share of errors by which a slot may be worse than those before
	// the first fault.
	moreErrors = 0.01
)

// Recovery compares the slots after a load's faults with those before. first is when
// the first fault began, last when the last one had ended.
func (t *Timeline) Recovery(first, last time.Duration) Recovery {
	t.mu.Lock()
	defer t.mu.Unlock()
	var before slot
	before.latency = hdrhistogram.New(lowest, highest, slotDigits)
	seen, well, why := false, last, ""
	for i, s := range t.slots {
		at := time.Duration(i) * t.step
		switch {
		case at+t.step <= first:
			before.add(s)
		case at >= last && s.answers+s.sent > 0:
			if !seen || why != "" {
				well = at
			}
			seen, why = true, s.sick(before.moment(0))
		}
	}
	switch {
	case !seen:
		return Recovery{Why: "the load ended with its last fault"}
	case why != "":
		return Recovery{Why: fmt.Sprintf("at the end %s", why)}
	}
	return Recovery{Recovered: true, After: ms(well - last)}
}

// sick says by what a slot is worse than those before the faults, "" by nothing.
// Without any before, it must have no errors.
func (s *slot) sick(before Moment) string {
	now := s.moment(0)
	share := func(m Moment) float64 { return float64(m.Errors) / float64(cmp.Or(m.Answered, 1)) }
	switch {
	case s.answers == 0:
		return "nothing was answered"
	case share(now) > share(before)+moreErrors:
		return fmt.Sprintf("%d of %d answers were errors", now.Errors, now.Answered)
	case before.Answered > 0 && now.P99 > max(slowTimes*before.P99, before.P99+slowBy):
		return fmt.Sprintf("the p99 was %.0f ms, and %.0f ms before", now.P99, before.P99)
	}
	return ""
}
