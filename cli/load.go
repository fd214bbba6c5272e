package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/store/backend"
)

// loadFlags are the flags of load.
type loadFlags struct {
	impls, faults, thresholds []string
	rate                      float64
	ramp                      string
	clients, burst            int
	every, span, takes        time.Duration
	requests, seed            int64
	plan                      load.Plan
	compare                   bool
	form, output              string
	store                     storeFlags
	coordinator               coordinatorFlags
}

func (a *app) loadVerb() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Send at a steady pace, with retries, and judge every key",
		Long: "load sends requests at a pace that does not wait for answers, with duplicates in\n" +
			"flight, just after and later, and judges every key while it does. Latency counts from\n" +
			"the moment a request should have left; late and dropped sends are counted.\n\n" +
			"--compare also loads the floor: the same commands by the same client, without a\n" +
			"coordinator, so that what correctness costs is a ratio of one run.\n\n" +
			"Thresholds are of double_charges, p50, p90, p99, p99.9, max, late, dropped, errors and\n" +
			"rate: one that is crossed is exit 1.",
		Example: "  idemrace load --impl wait --rate 500 --for 30s\n" +
			"  idemrace load --impl wait --clients 50 --for 10s --compare\n" +
			"  idemrace load --impl raise --rate 200 --for 20s --fault store-down@5s+2s --store-policy closed\n" +
			"  idemrace load --impl wait --threshold 'double_charges==0' --threshold 'p99<50ms'",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.load(cmd.Context(), f) },
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.impls, "impl", []string{"wait"}, "coordinators, by `name` or group; repeatable")
	fs.Float64Var(&f.rate, "rate", 200, "requests per second")
	fs.StringVar(&f.ramp, "ramp", "", "from one rate to another: `FROM:TO:OVER`, e.g. 100:2000:30s")
	fs.IntVar(&f.clients, "clients", 0, "so many clients instead, each sending as soon as it is answered")
	fs.IntVar(&f.burst, "burst", 0, "so many at once instead, every --every")
	fs.DurationVar(&f.every, "every", time.Second, "pause between bursts")
	fs.DurationVar(&f.span, "for", 10*time.Second, "how long")
	fs.Int64Var(&f.requests, "requests", 0, "at most so many; 0: no bound")
	fs.Int64Var(&f.seed, "seed", defaultSeed, "seed of the plan")
	fs.DurationVar(&f.takes, "provider", 5*time.Millisecond, "how long the provider takes for a charge")
	fs.Float64Var(&f.plan.Duplicates, "duplicates", 0.2, "share of keys that come again")
	fs.IntVar(&f.plan.FanOut, "fan-out", 1, "how often such a key comes again")
	fs.Float64Var(&f.plan.JustAfter, "just-after", 0.2, "share of duplicates that come just after; the others come in flight")
	fs.Float64Var(&f.plan.Later, "later", 0.1, "share of duplicates that come a second later")
	fs.DurationVar(&f.plan.Window, "window", load.DefaultWindow, "how soon a duplicate in flight comes")
	fs.IntVar(&f.plan.Hot, "hot-keys", 0, "how many keys are asked for again and again")
	fs.Float64Var(&f.plan.HotShare, "hot", 0.1, "share of requests for hot keys")
	fs.Float64Var(&f.plan.Payloads, "payloads", 0, "share of duplicates with another amount")
	fs.Float64Var(&f.plan.Aborts, "aborts", 0, "share of clients that leave")
	fs.StringSliceVar(&f.faults, "fault", nil, "a disturbance at a time: `KIND@AT+FOR`, kinds "+strings.Join(runner.LoadFaults(), ", "))
	fs.StringSliceVar(&f.thresholds, "threshold", nil, "what must hold: `METRIC<VALUE`, e.g. 'p99<50ms'")
	fs.BoolVar(&f.compare, "compare", false, "load the floor too, and say the ratios")
	fs.StringVar(&f.form, "format", "table", "`format`: table, json")
	fs.StringVarP(&f.output, "output", "o", "", "write to this `file` instead of stdout")
	f.store.add(cmd)
	f.coordinator.add(cmd)
	complete(cmd, "impl", a.implNames)
	return cmd
}

// pace is the one that is asked for.
func (f loadFlags) pace() (load.Pacer, error) {
	switch {
	case f.clients > 0:
		return load.Clients(f.clients), nil
	case f.burst > 0 && f.every > 0:
		return load.Bursts{Size: int64(f.burst), Every: f.every}, nil
	case f.ramp != "":
		parts := strings.Split(f.ramp, ":")
		if len(parts) == 3 {
			from, err1 := strconv.ParseFloat(parts[0], 64)
			to, err2 := strconv.ParseFloat(parts[1], 64)
			over, err3 := time.ParseDuration(parts[2])
			if errors.Join(err1, err2, err3) == nil && from > 0 && to > 0 && over > 0 {
				return load.Ramp{From: from, To: to, Over: over}, nil
			}
		}
		return nil, usage("--ramp %s: write FROM:TO:OVER, e.g. 100:2000:30s", f.ramp)
	case f.rate > 0:
		return load.Constant(f.rate), nil
	}
	return nil, usage("--rate %g: how many requests a second, e.g. --rate 200", f.rate)
}

func (a *app) load(ctx context.Context, f loadFlags) error {
	plan, err := f.wanted()
	if err != nil {
		return err
	}
	entries, err := a.pickTargets(f.impls)
	if err != nil {
		return err
	}
	limits, err := thresholds(f.thresholds)
	if err != nil {
		return err
	}
	var faults []runner.LoadFault
	for _, text := range f.faults {
		fault, err := runner.ParseLoadFault(text)
		if err != nil {
			return usage("--fault %v", err)
		}
		faults = append(faults, fault)
	}
	if f.compare {
		entries = append(entries, impl.Entry{})
	}
	b, err := backend.Open(ctx, f.store.spec(a.env))
	if err != nil {
		return storeError(f.store.name, err)
	}
	defer func() { _ = b.Close() }()
	var reports []runner.LoadReport
	for _, e := range entries {
		r, err := a.loadOne(ctx, runner.LoadConfig{Entry: e, Plan: plan, Backend: b, Coordinator: f.coordinator.config(), Takes: f.takes, Faults: faults})
		if err != nil {
			return err
		}
		reports = append(reports, r)
		if ctx.Err() != nil {
			break
		}
	}
	return a.loadEnd(ctx, f, reports, limits)
}

func (f loadFlags) wanted() (load.Plan, error) {
	pace, err := f.pace()
	if err != nil {
		return load.Plan{}, err
	}
	if f.form != "table" && f.form != "json" {
		return load.Plan{}, about("format", unknown("format", f.form, []string{"table", "json"}, "idemrace load --help"))
	}
	p := f.plan
	p.Seed, p.Pace, p.For, p.Requests = f.seed, pace, f.span, f.requests
	if err := p.Check(); err != nil {
		return p, usage("%v; see idemrace load --help", err)
	}
	return p, f.coordinator.check()
}

func (a *app) loadOne(ctx context.Context, cfg runner.LoadConfig) (runner.LoadReport, error) {
	p := a.progress()
	defer p.clear()
	name := cfg.Entry.Name
	if name == "" {
		name = runner.Floor
	}
	cfg.Progress = func(s load.Snapshot) {
		p.doing(fmt.Sprintf("%s: %.0f s of %v, %d sent, %d in flight, p50 %v, p99 %v, %d double charges", name, s.At.Seconds(), cfg.Plan.For, s.Sent, s.InFlight, s.P50, s.P99, s.Doubles))
	}
	return runner.Load(ctx, cfg)
}

func (a *app) loadEnd(ctx context.Context, f loadFlags, reports []runner.LoadReport, limits []threshold) error {
	text, err := drawLoad(reports, f)
	if err == nil {
		err = a.put(f.output, text)
	}
	if err != nil {
		return err
	}
	var crossed []string
	for _, r := range reports {
		for _, l := range limits {
			if r.Target != runner.Floor && !l.holds(r) {
				crossed = append(crossed, fmt.Sprintf("%s of %s is %s", l.text, r.Target, l.value(r)))
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(a.stderr, "exit 130: interrupted")
		return verdictError{ExitInterrupted}
	case len(crossed) > 0:
		fmt.Fprintf(a.stderr, "exit 1: a threshold is crossed: %s\n", strings.Join(crossed, "; "))
		return verdictError{ExitUnexpected}
	}
	fmt.Fprintln(a.stderr, "exit 0: done")
	return nil
}

// drawLoad is a table, a row for each target, and findings below.
func drawLoad(reports []runner.LoadReport, f loadFlags) ([]byte, error) {
	if f.form == "json" {
		text, err := json.MarshalIndent(reports, "", "  ")
		return append(text, '\n'), err
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TARGET\tSENT\tPER SECOND\tP50\tP90\tP99\tP99.9\tMAX\tLATE\tDROPPED\tCPU\tDOUBLE CHARGES\tANSWERS")
	for _, r := range reports {
		at := func(q float64) string {
			return (time.Duration(r.Latency.ValueAtQuantile(q)) * time.Microsecond).Round(10 * time.Microsecond).String()
		}
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%s\n", r.Target, r.Sent, float64(r.Sent)/r.Took.Seconds(), at(50), at(90), at(99), at(99.9), at(100),
			r.Late, r.Dropped, perRequest(r), r.Verdicts.Ledger.Doubles, answersOf(r))
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	for _, r := range reports {
		loadFindings(&b, r)
	}
	return []byte(trimLines(b.String())), nil
}

func trimLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

func perRequest(r runner.LoadReport) string {
	if r.Sent == 0 {
		return "0"
	}
	return (r.CPU / time.Duration(r.Sent)).Round(time.Microsecond).String()
}

func answersOf(r runner.LoadReport) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(r.Verdicts.Answers)) {
		words = append(words, fmt.Sprintf("%s %d", name, r.Verdicts.Answers[name]))
	}
	return strings.Join(words, ", ")
}

func loadFindings(b *strings.Builder, r runner.LoadReport) {
	for _, name := range slices.Sorted(maps.Keys(r.Verdicts.Violated)) {
		fmt.Fprintf(b, "  %s: %s: %s", r.Target, name, count(int(r.Verdicts.Violated[name]), "key"))
		i := slices.IndexFunc(r.Verdicts.Findings, func(f load.Finding) bool { return f.Invariant == name })
		if i >= 0 {
			first := r.Verdicts.Findings[i]
			fmt.Fprintf(b, "; the first at %.0f ms: %s", first.At, first.Because)
		}
		b.WriteByte('\n')
	}
}

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
		if d, err := time.ParseDuration(value); err == nil {
			t.than = float64(d.Microseconds()) / 1000
		} else if n, err := strconv.ParseFloat(value, 64); err == nil {
			t.than = n
		} else {
			return t, false
		}
		return t, slices.Contains(metrics(), t.metric)
	}
	return threshold{}, false
}

// of is the metric's value: milliseconds for times.
func (t threshold) of(r runner.LoadReport) float64 {
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
		return float64(r.Sent) / r.Took.Seconds()
	case "max":
		return float64(r.Latency.Max()) / 1000
	}
	q, _ := strconv.ParseFloat(strings.TrimPrefix(t.metric, "p"), 64)
	return float64(r.Latency.ValueAtQuantile(q)) / 1000
}

func (t threshold) value(r runner.LoadReport) string { return fmt.Sprintf("%g", t.of(r)) }

func (t threshold) holds(r runner.LoadReport) bool {
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
