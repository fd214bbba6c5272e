package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/report"
)

// drawLoad is a table, a row for each target; then what each one answered, when what
// happened, and findings.
func drawLoad(d load.Document, form string) ([]byte, error) {
	if form == "json" {
		text, err := json.MarshalIndent(d, "", "  ")
		return append(text, '\n'), err
	}
	reports := d.Loads
	rows := [][]string{{"TARGET", "SENT", "PER SECOND", "P50", "P90", "P99", "P99.9", "MAX", "LATE", "DROPPED", "STORE COMMANDS", "CPU", "DOUBLE CHARGES"}}
	for _, r := range reports {
		rows = append(rows, loadRow(r))
	}
	var b bytes.Buffer
	if err := report.Columns(&b, rows, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12); err != nil {
		return nil, err
	}
	b.WriteString("Store commands and CPU (of idemrace itself) are per request.\n")
	switch {
	case d.Merged > 0:
		fmt.Fprintf(&b, "Of %d shards; rates are of the time that the longest took.\n", d.Merged)
	case d.Shard != nil:
		fmt.Fprintf(&b, "Shard %d of %d of the plan.\n", d.Shard.Index, d.Shard.Of)
	}
	if d.Trouble != "" {
		fmt.Fprintf(&b, "Not all targets were loaded: %s\n", d.Trouble)
	}
	for _, r := range d.Ratios {
		fmt.Fprintf(&b, "%s: %.2f of the %s's throughput, %.2f of its median latency (medians of %s in turns)\n", r.Target, r.Throughput, r.To, r.Latency, count(r.Rounds, "round"))
	}
	for _, r := range reports {
		if err := loadDetails(&b, r); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func loadRow(r load.Report) []string {
	at := func(q float64) string {
		return rounded(time.Duration(r.Latency.ValueAtQuantile(q)) * time.Microsecond).String()
	}
	return []string{r.Target, fmt.Sprint(r.Sent), fmt.Sprintf("%.0f", float64(r.Sent)/r.Took.Seconds()), at(50), at(90), at(99), at(99.9), at(100),
		fmt.Sprint(r.Late), fmt.Sprint(r.Dropped), commandsOf(r), perRequest(r), fmt.Sprint(r.Verdicts.Ledger.Doubles)}
}

// commandsOf is the commands per request; "-" where nobody could count them.
func commandsOf(r load.Report) string {
	if r.Sent == 0 || r.Commands == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(r.Commands)/float64(r.Sent))
}

func perRequest(r load.Report) string {
	if r.Sent == 0 {
		return "-"
	}
	return (r.CPU / time.Duration(r.Sent)).Round(time.Microsecond).String()
}

func answersOf(r load.Report) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(r.Verdicts.Answers)) {
		words = append(words, fmt.Sprintf("%s %d", name, r.Verdicts.Answers[name]))
	}
	return strings.Join(words, ", ")
}

// loadDetails are what a row has no room for.
func loadDetails(b *bytes.Buffer, r load.Report) error {
	fmt.Fprintf(b, "\n%s: %s\n", targetOf(r), answersOf(r))
	for _, name := range []string{history.Error, history.UnknownOutcome, history.StoreUnavailable, history.Declined} {
		if why := r.Verdicts.Examples[name]; why != "" {
			fmt.Fprintf(b, "  %s, for one: %s\n", name, why)
		}
	}
	if r.Note != "" {
		fmt.Fprintf(b, "  note: %s\n", r.Note)
	}
	if n := len(r.Verdicts.Shared); n > 0 {
		fmt.Fprintf(b, "  %s other shards send too; idemrace merge judges them\n", count(n, "key"))
	}
	if memory := memoryOf(r); memory != "" {
		fmt.Fprintf(b, "  %s\n", memory)
	}
	loadFindings(b, r)
	if err := loadTimeline(b, r); err != nil {
		return err
	}
	switch {
	case r.Recovery == nil:
	case r.Recovery.Recovered:
		fmt.Fprintf(b, "  recovered: as before from %.0f ms after its last fault on\n", r.Recovery.After)
	default:
		fmt.Fprintf(b, "  not recovered: %s\n", r.Recovery.Why)
	}
	return nil
}

// longLoad is from when on memory is told: before, it is what a program starts with.
const longLoad = time.Minute

// memoryOf is what a long load's process took after its first minute and at the end.
func memoryOf(r load.Report) string {
	if r.Timeline == nil || r.Took < 2*longLoad {
		return ""
	}
	moments := r.Timeline.Moments()
	i := slices.IndexFunc(moments, func(m load.Moment) bool { return m.At >= ms(longLoad) })
	last := moments[len(moments)-1]
	if i < 0 || last.Resident == 0 {
		return ""
	}
	return fmt.Sprintf("memory of idemrace: %d MB after the first minute, %d MB at the end", moments[i].Resident>>20, last.Resident>>20)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func targetOf(r load.Report) string {
	if r.Workers == 0 {
		return r.Target
	}
	return fmt.Sprintf("%s (%s)", r.Target, count(r.Workers, "worker"))
}

func loadFindings(b *bytes.Buffer, r load.Report) {
	for _, name := range slices.Sorted(maps.Keys(r.Verdicts.Violated)) {
		fmt.Fprintf(b, "  %s: %s: %s", r.Target, name, count(int(r.Verdicts.Violated[name]), "key"))
		i := slices.IndexFunc(r.Verdicts.Findings, func(f load.Finding) bool { return f.Invariant == name })
		if i >= 0 {
			first := r.Verdicts.Findings[i]
			if first.At > 0 { // shards have no common word on when
				fmt.Fprintf(b, "; the first at %.0f ms", first.At)
			}
			fmt.Fprintf(b, ": %s", first.Because)
		}
		b.WriteByte('\n')
	}
}

// loadTimeline is a row for each moment, with the faults that acted in it. Where there
// were none, and nothing was violated, one moment is like the others.
func loadTimeline(b *bytes.Buffer, r load.Report) error {
	if r.Timeline == nil || len(r.Faults) == 0 && len(r.Verdicts.Violated) == 0 {
		return nil
	}
	moments := r.Timeline.Moments()
	rows := [][]string{{"  AT", "SENT", "ANSWERED", "P99", "ERRORS", "DOUBLE CHARGES", "FAULTS"}}
	for i, m := range moments {
		end := r.Took.Seconds() * 1000
		if i+1 < len(moments) {
			end = moments[i+1].At
		}
		p99 := "-"
		if m.Answered > 0 {
			p99 = rounded(time.Duration(m.P99 * float64(time.Millisecond))).String()
		}
		rows = append(rows, []string{fmt.Sprintf("  %.1f s", m.At/1000), fmt.Sprint(m.Sent), fmt.Sprint(m.Answered), p99,
			fmt.Sprint(m.Errors), fmt.Sprint(m.Doubles), faultsIn(r.Faults, m.At, end)})
	}
	var drawn bytes.Buffer
	if err := report.Columns(&drawn, rows, 1, 2, 3, 4, 5); err != nil {
		return err
	}
	b.Write(drawn.Bytes())
	return nil
}

// faultsIn names the faults that acted in a time, in milliseconds.
func faultsIn(all []load.FaultSeen, from, to float64) string {
	var names []string
	for _, f := range all {
		kind, _, _ := strings.Cut(f.Fault, "@")
		if f.Began < to && f.Ended > from {
			names = append(names, kind)
		}
	}
	return strings.Join(names, ", ")
}
