package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idemrace/idemrace/load"
)

// threshold is METRIC, a comparison and a value, as in k6.
type threshold struct {
	text, metric, op string
	than             float64
}

func thresholds(texts []string) ([]threshold, error) {
	var all []threshold
	for _, text := range texts {
		t, ok := parseThreshold(text)
		if !ok {
			return nil, usage("--threshold %q: write METRIC<VALUE, e.g. p99<50ms or double_charges==0; metrics: %s", text, strings.Join(metrics(), ", "))
		}
		all = append(all, t)
	}
	return all, nil
}

func metrics() []string {
	return []string{"double_charges", "p50", "p90", "p99", "p99.9", "max", "late", "dropped", "errors", "rate"}
}

func parseThreshold(text string) (threshold, bool) {
	for _, op := range []string{"<=", ">=", "==", "<", ">"} {
		name, value, ok := strings.Cut(text, op)
		if !ok {
			continue
		}
		t := threshold{text: text, metric: strings.TrimSpace(name), op: op}
		value = strings.TrimSpace(value)
		if d, err := time.ParseDuration(value); err == nil && (t.timed() || d == 0 && value == "0") {
			t.than = float64(d.Microseconds()) / 1000
		} else if n, err := strconv.ParseFloat(value, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
			t.than = n
		} else {
			return t, false
		}
		return t, slices.Contains(metrics(), t.metric) && t.than >= 0
	}
	return threshold{}, false
}

// timed: the metric is a time.
func (t threshold) timed() bool { return t.metric == "max" || strings.HasPrefix(t.metric, "p") }

// of is the metric's value: milliseconds for times.
func (t threshold) of(r load.Report) float64 {
	switch t.metric {
	case "double_charges":
		return float64(r.Verdicts.Ledger.Doubles)
	case "late":
		return float64(r.Late)
	case "dropped":
		return float64(r.Dropped)
	case "errors":
		return float64(r.Verdicts.Answers["error"])
	case "rate":
		return r.PerSecond()
	case "max":
		return float64(r.Latency.Max()) / 1000
	}
	q, _ := strconv.ParseFloat(strings.TrimPrefix(t.metric, "p"), 64)
	return float64(r.Latency.ValueAtQuantile(q)) / 1000
}

func (t threshold) value(r load.Report) string { return fmt.Sprintf("%g", t.of(r)) }

func (t threshold) holds(r load.Report) bool {
	v := t.of(r)
	switch t.op {
	case "<=":
		return v <= t.than
	case ">=":
		return v >= t.than
	case "==":
		return v == t.than
	case "<":
		return v < t.than
	}
	return v > t.than
}
