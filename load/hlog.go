package load

import (
	"errors"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// nanos turns what is counted here into what readers of logs take for granted.
const nanos = 1000

// WriteLog writes the reports' time lines as a log of HdrHistogram, version 1.3, which
// its own log processor and plotters read: a line for each moment, tagged with the
// target, latency in nanoseconds. Errors are w's.
func WriteLog(w io.Writer, started time.Time, reports []Report) error {
	log := hdrhistogram.NewHistogramLogWriter(w)
	began := started.UnixMilli()
	log.SetBaseTime(began)
	err := errors.Join(log.OutputComment("[Logged with idemrace; latency from the intended moment of sending]"),
		log.OutputLogFormatVersion(), log.OutputBaseTime(began), log.OutputStartTime(began), log.OutputLegend())
	for _, r := range reports {
		if r.Timeline == nil {
			continue
		}
		for i, s := range r.Timeline.slots {
			if s.latency == nil || err != nil {
				continue
			}
			err = log.OutputIntervalHistogram(s.logged(r.Target, started.Add(time.Duration(i)*r.Timeline.step), r.Timeline.step))
		}
	}
	return err
}

// logged is the slot's histogram in nanoseconds.
func (s *slot) logged(target string, at time.Time, step time.Duration) *hdrhistogram.Histogram {
	h := hdrhistogram.New(lowest*nanos, highest*nanos, slotDigits)
	for _, bar := range s.latency.Distribution() {
		if bar.Count > 0 {
			_ = h.RecordValues(min(bar.To, highest)*nanos, bar.Count)
		}
	}
	h.SetTag(target)
	h.SetStartTimeMs(at.UnixMilli())
	h.SetEndTimeMs(at.Add(step).UnixMilli())
	return h
}
