package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/runner"
)

// loadLine is the line that shows how far a load is. It remembers the last snapshot:
// the rate is that of the time since then.
type loadLine struct {
	name   string
	span   time.Duration // 0: the plan has no end in time
	most   int64         // requests; 0: the plan has no end in number
	faults []runner.LoadFault
	last   load.Snapshot
}

// say is the line for a snapshot.
func (l *loadLine) say(s load.Snapshot) string {
	rate := 0.0
	if d := s.At - l.last.At; d > 0 {
		rate = float64(s.Answered-l.last.Answered) / d.Seconds()
	}
	l.last = s
	parts := []string{fmt.Sprintf("%s: %.0f/s", l.name, rate), fmt.Sprintf("p50 %v", rounded(s.P50)), fmt.Sprintf("p99 %v", rounded(s.P99)),
		fmt.Sprintf("%d in flight", s.InFlight), count(int(s.Doubles), "double charge")}
	for _, f := range l.faults {
		if s.At >= f.At && s.At < f.At+f.For {
			parts = append(parts, f.Kind)
		}
	}
	if left := l.left(s); left != "" {
		parts = append(parts, left)
	}
	return strings.Join(parts, ", ")
}

// left is the time left, or how many of the requests have been answered.
func (l *loadLine) left(s load.Snapshot) string {
	switch {
	case l.span > 0 && s.At >= l.span:
		return "waiting for the last answers"
	case l.span > 0:
		return fmt.Sprintf("%v left", (l.span - s.At).Round(time.Second))
	case l.most > 0:
		return fmt.Sprintf("%d of %d", s.Answered, l.most)
	}
	return ""
}

// rounded is a time with as many digits as anybody reads.
func rounded(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(10 * time.Microsecond)
}
