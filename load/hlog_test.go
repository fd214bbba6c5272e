package load

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// began has a fraction of a second, which the format's base time has not.
func began() time.Time { return time.Date(2026, 12, 1, 13, 0, 0, 700e6, time.UTC) }

// logLine is what HdrHistogram's own reader makes of one.
type logLine struct {
	tag      string
	from, to time.Time
	values   int64
	median   time.Duration
}

func logLines(t *testing.T, log []byte) (all []logLine) {
	t.Helper()
	r := hdrhistogram.NewHistogramLogReader(bytes.NewReader(log))
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatalf("line %d: %v\n%s", len(all), err, log)
		}
		if h == nil {
			return all
		}
		all = append(all, logLine{h.Tag(), time.UnixMilli(h.StartTimeMs()).UTC(), time.UnixMilli(h.EndTimeMs()).UTC(), h.TotalCount(), time.Duration(h.ValueAtQuantile(50))})
	}
}

// about: within the digits that the log keeps.
func about(d, want time.Duration, part float64) bool {
	return float64(d) > float64(want)*(1-part) && float64(d) < float64(want)*(1+part)
}

// The log has a line for each second in which somebody was answered, with its moment,
// its target and three digits of each latency; and HdrHistogram's own reader reads it.
func TestLogHasSeconds(t *testing.T) {
	var text bytes.Buffer
	log := NewLog(&text, began())
	s := log.Of("wait, patiently")
	s.begin(began())
	for _, at := range []time.Duration{0, 900, 1200, 1100, 3700} {
		s.answered(at*time.Millisecond, 7*time.Millisecond)
	}
	s.end(3900 * time.Millisecond)
	if err := log.Err(); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text.Bytes(), []byte("#[Logged with")) || !bytes.Contains(text.Bytes(), []byte("\n#[Histogram log format version 1.3]\n#[BaseTime: 1796130000 (seconds since epoch)]\n")) {
		t.Errorf("%.200s", text.String())
	}
	second := func(n int, length time.Duration) (from, to time.Time) {
		from = began().Add(time.Duration(n) * time.Second)
		return from, from.Add(length)
	}
	lines := logLines(t, text.Bytes())
	for i, want := range []struct {
		second int
		length time.Duration
		values int64
	}{{0, time.Second, 2}, {1, time.Second, 2}, {3, 900 * time.Millisecond, 1}} {
		if i >= len(lines) {
			t.Fatalf("%d lines", len(lines))
		}
		from, to := second(want.second, want.length)
		if got := lines[i]; !near1(got.from, from) || !near1(got.to, to) || got.values != want.values || got.tag != "wait__patiently" || !about(got.median, 7*time.Millisecond, 0.001) {
			t.Errorf("line %d: %+v, want %v to %v, %d values", i, got, from, to, want.values)
		}
	}
	if len(lines) != 3 {
		t.Errorf("%d lines", len(lines))
	}
}

// near1: the format has microseconds in a decimal fraction, of which readers make whole
// milliseconds.
func near1(a, b time.Time) bool { return a.Sub(b).Abs() <= time.Millisecond }

// A load's log has as many values as there were answers, and goes on after a target.
func TestLogHasAllAnswers(t *testing.T) {
	var text bytes.Buffer
	log := NewLog(&text, time.Now())
	for _, target := range []string{"a", "b"} {
		p := quick(Plan{Requests: 3000})
		p.Pace = Constant(2000) // more than a second
		g := Generator{Plan: p, Sender: nobody{}, Judge: NewJudge(NewLedger(nil), 0, time.Now()), Log: log.Of(target)}
		g.Run(t.Context())
	}
	if err := log.Err(); err != nil {
		t.Fatal(err)
	}
	values, lines := map[string]int64{}, map[string]int{}
	for _, line := range logLines(t, text.Bytes()) {
		values[line.tag] += line.values
		lines[line.tag]++
	}
	if values["a"] != 3000 || values["b"] != 3000 || lines["a"] < 2 || lines["b"] < 2 {
		t.Errorf("%v values in %v lines", values, lines)
	}
}

// A log of loads that are over is made of their time lines.
func TestLogOfTimelines(t *testing.T) {
	line := NewTimeline(time.Second)
	for i := range 3 {
		line.answered(time.Duration(i)*time.Second, time.Duration(i)*time.Second, 7*time.Millisecond, false)
	}
	var log bytes.Buffer
	if err := WriteLog(&log, began(), []Report{{Result: empty(), Target: "wait", Timeline: line}, {Target: "none"}}); err != nil {
		t.Fatal(err)
	}
	lines := logLines(t, log.Bytes())
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, got := range lines {
		if from := began().Add(time.Duration(i) * time.Second); !near1(got.from, from) || got.values != 1 || !about(got.median, 7*time.Millisecond, 0.02) || got.tag != "wait" {
			t.Errorf("line %d: %+v", i, got)
		}
	}
}

type full struct{}

var errFull = errors.New("no space")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestLogSaysThatItCouldNotBeWritten(t *testing.T) {
	if err := NewLog(full{}, began()).Err(); !errors.Is(err, errFull) {
		t.Error(err)
	}
	var none *Log
	none.Of("nobody").answered(0, 0) // no log is no trouble
}
