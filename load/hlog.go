package load

import (
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// nanos turns what is counted here into what readers of logs take for granted.
const nanos = 1000

// Log is a log of HdrHistogram, version 1.3, which its own log processor and plotters
// read: a line for each second, tagged with the target, latency in nanoseconds. It is
// written while a load runs, and is safe for concurrent use. A nil Log is none.
type Log struct {
	mu  sync.Mutex
	w   *hdrhistogram.HistogramLogWriter
	err error
}

// NewLog begins a log. Times in it count from the second in which the load started:
// the format's base time has no fractions.
func NewLog(w io.Writer, started time.Time) *Log {
	l := &Log{w: hdrhistogram.NewHistogramLogWriter(w)}
	base := started.Truncate(time.Second).UnixMilli()
	l.w.SetBaseTime(base)
	l.err = errors.Join(l.w.OutputComment("[Logged with idemrace; latency from the intended moment of sending]"),
		l.w.OutputLogFormatVersion(), l.w.OutputBaseTime(base), l.w.OutputStartTime(base), l.w.OutputLegend())
	return l
}

// Err is the first error of writing.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// line writes one histogram of nanoseconds.
func (l *Log) line(h *hdrhistogram.Histogram, target string, from, to time.Time) {
	h.SetTag(tag(target))
	h.SetStartTimeMs(from.UnixMilli())
	h.SetEndTimeMs(to.UnixMilli())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = l.w.OutputIntervalHistogram(h)
	}
}

// tag is a target's name without what ends a tag.
func tag(target string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(", \t\r\n", r) {
			return '_'
		}
		return r
	}, target)
}

// Of is the part of a log that is of one target.
func (l *Log) Of(target string) *Lines {
	if l == nil {
		return nil
	}
	return &Lines{log: l, target: target, now: newNanos()}
}

func newNanos() *hdrhistogram.Histogram {
	return hdrhistogram.New(lowest*nanos, highest*nanos, digits)
}

// Lines are what a log has of one target.
type Lines struct {
	log    *Log
	target string

	mu         sync.Mutex
	start      time.Time
	second     int64 // since the start, of what is counted now
	now, spare *hdrhistogram.Histogram
}

// interval is how long a line's is: what wrk2 and HdrHistogram's own logs have.
const interval = time.Second

func (s *Lines) begin(start time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start = start
}

// answered enters one request: when its client was answered, since the start, and how
// long that was from the intended moment. Whoever is first in a second writes the one
// before, when nobody waits for it.
func (s *Lines) answered(at, took time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	full, from := s.turn(int64(at / interval))
	_ = s.now.RecordValue(min(max(took.Nanoseconds(), lowest*nanos), highest*nanos))
	s.mu.Unlock()
	s.write(full, from, interval)
}

// turn begins a second, and returns what was counted in the one before; nil if it is
// still under way, or was empty.
func (s *Lines) turn(second int64) (full *hdrhistogram.Histogram, from int64) {
	if second <= s.second {
		return nil, 0
	}
	full, from, s.second = s.now, s.second, second
	if full.TotalCount() == 0 {
		return nil, 0
	}
	s.now, s.spare = s.spare, nil
	if s.now == nil {
		s.now = newNanos()
	}
	return full, from
}

func (s *Lines) write(full *hdrhistogram.Histogram, from int64, length time.Duration) {
	if full == nil {
		return
	}
	begin := s.start.Add(time.Duration(from) * interval)
	s.log.line(full, s.target, begin, begin.Add(length))
	full.Reset()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = full
}

// end writes the last line, which is as long as there was left.
func (s *Lines) end(took time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	last := s.second
	full, from := s.turn(last + 1)
	s.mu.Unlock()
	s.write(full, from, min(max(took-time.Duration(last)*interval, time.Millisecond), interval))
}

// WriteLog writes the log of loads that are over, from their time lines: a line for each
// moment, which is longer than a second in a long load, and two digits of each latency.
// Errors are w's.
func WriteLog(w io.Writer, started time.Time, reports []Report) error {
	log := NewLog(w, started)
	for _, r := range reports {
		if r.Timeline == nil {
			continue
		}
		for i, s := range r.Timeline.slots {
			if s.latency != nil {
				from := started.Add(time.Duration(i) * r.Timeline.step)
				log.line(s.logged(), r.Target, from, from.Add(r.Timeline.step))
			}
		}
	}
	return log.Err()
}

// logged is the slot's histogram in nanoseconds.
func (s *slot) logged() *hdrhistogram.Histogram {
	h := hdrhistogram.New(lowest*nanos, highest*nanos, slotDigits)
	for _, bar := range s.latency.Distribution() {
		if bar.Count > 0 {
			_ = h.RecordValues(min(bar.To, highest)*nanos, bar.Count)
		}
	}
	return h
}
