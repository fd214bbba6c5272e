package load

import (
	"cmp"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report is what a load has shown of one target.
type Report struct {
	Result
	Target   string
	Workers  int           // of a service; 0: a coordinator in the load's own process
	Commands int           // store commands
	CPU      time.Duration // of the load's process
	Timeline *Timeline     // what happened when; may be nil
	Faults   []FaultSeen
	Recovery *Recovery // nil without faults
	Note     string    // what limits what the load can show
	Trouble  string    // why the target, or a fault, could not do its part
	Meeting  string    // that shards with shared keys found in one store: alike in all
}

// FaultSeen is a fault as it was made. Times are milliseconds since the load's start.
type FaultSeen struct {
	Fault string  `json:"fault"` // as it was asked for
	Began float64 `json:"began_ms"`
	Ended float64 `json:"ended_ms"`        // all was undone: a killed worker was ready again
	Error string  `json:"error,omitempty"` // it could not be made, or not undone
}

// document is a report as it is written: figures in milliseconds with the percentiles
// that people ask for, and beside them the histograms, in HdrHistogram's own encoding
// (V2, compressed, base64; microseconds), of which more can be asked.
type document struct {
	Target      string             `json:"target"`
	Sent        int64              `json:"sent"`
	Dropped     int64              `json:"dropped"`
	Late        int64              `json:"late"`
	TookMS      float64            `json:"took_ms"`
	Interrupted bool               `json:"interrupted"`
	PerSecond   float64            `json:"per_second"`
	Commands    int                `json:"store_commands"`
	CPUMS       float64            `json:"cpu_ms"`
	Go          string             `json:"go"`
	LatencyMS   map[string]float64 `json:"latency_ms"`
	Latency     string             `json:"latency_hdr"`
	Lateness    string             `json:"lateness_hdr"`
	Verdicts    Verdicts           `json:"verdicts"`
	Workers     int                `json:"workers"`
	Timeline    *Timeline          `json:"timeline,omitempty"`
	Faults      []FaultSeen        `json:"faults"`
	Recovery    *Recovery          `json:"recovery"`
	Note        string             `json:"note"`
	Trouble     string             `json:"trouble"`
	Meeting     string             `json:"meeting,omitempty"`
}

// MarshalJSON is the report as a document.
func (r Report) MarshalJSON() ([]byte, error) {
	q := func(p float64) float64 { return float64(r.Latency.ValueAtQuantile(p)) / 1000 }
	r.Took = span(ms(r.Took)) // as it will be read: the rate is of that
	r.Verdicts, r.Faults = r.Verdicts.tidy(), append([]FaultSeen{}, r.Faults...)
	latency, err1 := encoded(r.Latency)
	lateness, err2 := encoded(r.Lateness)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return json.Marshal(document{Target: r.Target, Sent: r.Sent, Dropped: r.Dropped, Late: r.Late, TookMS: ms(r.Took), Interrupted: r.Interrupted,
		PerSecond: r.PerSecond(), Commands: r.Commands, CPUMS: ms(r.CPU), Go: runtime.Version(),
		LatencyMS: map[string]float64{"p50": q(50), "p90": q(90), "p99": q(99), "p99.9": q(99.9), "max": float64(r.Latency.Max()) / 1000},
		Latency:   latency, Lateness: lateness, Verdicts: r.Verdicts, Workers: r.Workers, Timeline: r.Timeline, Faults: r.Faults, Recovery: r.Recovery,
		Note: r.Note, Trouble: r.Trouble, Meeting: r.Meeting})
}

// UnmarshalJSON reads what MarshalJSON writes. Errors: of package json, or a histogram
// that cannot be read.
func (r *Report) UnmarshalJSON(text []byte) error {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	latency, err1 := decoded(d.Latency, digits)
	lateness, err2 := decoded(d.Lateness, digits)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("%s: %w", d.Target, err)
	}
	*r = Report{Result: Result{Sent: d.Sent, Dropped: d.Dropped, Late: d.Late, Took: span(d.TookMS), Interrupted: d.Interrupted, Latency: latency, Lateness: lateness, Verdicts: d.Verdicts},
		Target: d.Target, Workers: d.Workers, Commands: d.Commands, CPU: span(d.CPUMS), Timeline: d.Timeline, Faults: d.Faults, Recovery: d.Recovery, Note: d.Note, Trouble: d.Trouble, Meeting: d.Meeting}
	return nil
}

// PerSecond is how many requests were answered in a second.
func (r Report) PerSecond() float64 { return float64(r.Sent) / max(r.Took.Seconds(), 1e-9) }

// span reads what ms writes: microseconds.
func span(ms float64) time.Duration { return time.Duration(math.Round(ms*1000)) * time.Microsecond }

func encoded(h *hdrhistogram.Histogram) (string, error) {
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return string(b), err
}

// errHistogram: text that is no histogram of ours.
var errHistogram = errors.New("a histogram cannot be read")

// decoded reads a histogram with the range that all of ours have, and so many digits:
// from another, merging would leave values out without a word. The range is looked at
// before there is memory for it.
func decoded(text string, digits int32) (*hdrhistogram.Histogram, error) {
	if err := ours(text, digits); err != nil {
		return nil, fmt.Errorf("%w: %w", errHistogram, err)
	}
	h, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errHistogram, err)
	}
	return h, nil
}

// ours reads the header of an encoded histogram: after eight bytes that say what it is,
// and compressed.
func ours(text string, digits int32) error {
	raw := base64.NewDecoder(base64.StdEncoding, strings.NewReader(text))
	if _, err := io.CopyN(io.Discard, raw, 8); err != nil {
		return err
	}
	z, err := zlib.NewReader(raw)
	if err != nil {
		return err
	}
	defer func() { _ = z.Close() }()
	var head struct {
		Cookie, Payload, Offset, Digits int32
		Lowest, Highest                 int64
	}
	if err := binary.Read(z, binary.BigEndian, &head); err != nil {
		return err
	}
	if head.Digits != digits || head.Lowest != lowest || head.Highest != highest {
		return fmt.Errorf("it is of %d to %d with %d digits; a load's are of %d to %d with %d", head.Lowest, head.Highest, head.Digits, lowest, int64(highest), digits)
	}
	return nil
}

// Merge is the report that one load would have had, from those of its shards, in the
// shards' order. Rates are of the longest one's time. It refuses other targets and stores.
func Merge(shards []Report) (Report, error) {
	if len(shards) == 0 {
		return Report{}, errors.New("nothing to merge")
	}
	all := Report{Target: shards[0].Target}
	all.Latency, all.Lateness = hdrhistogram.New(lowest, highest, digits), hdrhistogram.New(lowest, highest, digits)
	all.Verdicts = Verdicts{Violated: map[string]int64{}, Answers: map[string]int64{}}
	var shared []SharedRefs
	for i, r := range shards {
		if r.Target != all.Target {
			return all, fmt.Errorf("%s and %s are two targets", all.Target, r.Target)
		}
		if r.Meeting != shards[0].Meeting {
			return all, fmt.Errorf("shards 0 and %d of %s used two stores, so that they did not race", i, r.Target)
		}
		all.add(r)
		shared = append(shared, r.Verdicts.Shared)
		all.Note, all.Trouble = said(all.Note, "shard", i, r.Note), said(all.Trouble, "shard", i, r.Trouble)
	}
	all.Verdicts.joinShared(shared)
	slices.SortFunc(all.Faults, func(a, b FaultSeen) int { return cmp.Compare(a.Began, b.Began) })
	return all, nil
}

// said joins what shards or rounds have to say.
func said(all, part string, n int, text string) string {
	if text == "" || strings.Contains(all, text) {
		return all
	}
	text = fmt.Sprintf("%s %d: %s", part, n, text)
	if all == "" {
		return text
	}
	return all + "; " + text
}

func (r *Report) add(o Report) {
	r.Meeting = o.Meeting
	r.Sent, r.Dropped, r.Late = r.Sent+o.Sent, r.Dropped+o.Dropped, r.Late+o.Late
	r.Took, r.Interrupted = max(r.Took, o.Took), r.Interrupted || o.Interrupted
	r.Workers, r.Commands, r.CPU = r.Workers+o.Workers, r.Commands+o.Commands, r.CPU+o.CPU
	r.Latency.Merge(o.Latency)
	r.Lateness.Merge(o.Lateness)
	r.Verdicts.add(o.Verdicts)
	r.Faults = append(r.Faults, o.Faults...)
	if r.Timeline == nil {
		r.Timeline = o.Timeline.clone()
	} else {
		r.Timeline.join(o.Timeline)
	}
	switch {
	case r.Recovery == nil:
		r.Recovery = o.Recovery
	case o.Recovery == nil || !r.Recovery.Recovered:
	case !o.Recovery.Recovered || o.Recovery.After > r.Recovery.After:
		r.Recovery = o.Recovery
	}
}

func (v *Verdicts) add(o Verdicts) {
	for name, n := range o.Violated {
		v.Violated[name] += n
	}
	for name, n := range o.Answers {
		v.Answers[name] += n
	}
	for name, reason := range o.Examples {
		if v.Examples == nil {
			v.Examples = map[string]string{}
		}
		v.Examples[name] = cmp.Or(v.Examples[name], reason)
	}
	v.Succeeded, v.Unknown, v.Open = v.Succeeded+o.Succeeded, v.Unknown+o.Unknown, v.Open+o.Open
	l, m := &v.Ledger, o.Ledger
	l.Charges, l.Refs, l.Doubles, l.Excess = l.Charges+m.Charges, l.Refs+m.Refs, l.Doubles+m.Doubles, l.Excess+m.Excess
	v.Findings = append(v.Findings, o.Findings...)
	slices.SortStableFunc(v.Findings, func(a, b Finding) int { return cmp.Compare(a.At, b.At) })
	v.Findings = v.Findings[:min(len(v.Findings), DefaultKept)]
}
