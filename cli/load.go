package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/idemrace/idemrace/config"
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
	compare, pipeline         bool
	out                       loadOutput
	shard                     shardFlags
	target                    targetFlags
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
			"--config and --target load HTTP services instead, as run races them: each charge is\n" +
			"counted by the provider that idemrace plays, and the duplicates of a key go to another\n" +
			"worker. Coordinators are then loaded only if --impl names them.\n\n" +
			"--compare also loads the floor: the same commands by the same client, without a\n" +
			"coordinator. All take turns, in up to nine rounds, so that what correctness costs is\n" +
			"a ratio of one run: the median of the rounds'.\n\n" +
			"Several machines load one target together: each sends a --shard of the plan and writes\n" +
			"--format json, and idemrace merge joins them. With --shared-keys they race each other.\n\n" +
			"Thresholds are of double_charges, p50, p90, p99, p99.9, max, late, dropped, errors and\n" +
			"rate: one that is crossed is exit 1. A target that cannot be loaded is exit 4.",
		Example: "  idemrace load --impl wait --rate 500 --for 30s\n" +
			"  idemrace load --impl wait --clients 50 --for 10s --compare\n" +
			"  idemrace load --impl raise --rate 200 --for 20s --fault store-down@5s+2s --store-policy closed\n" +
			"  idemrace load --impl wait --threshold 'double_charges==0' --threshold 'p99<50ms'\n" +
			"  idemrace load --config idemrace.yaml --rate 500 --for 30s --fault worker-kill@10s+3s\n" +
			"  idemrace load --target http://127.0.0.1:8080/charges --clients 50",
		Args:    noArguments,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return f.given(cmd.Flags()) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.target.wanted() && !cmd.Flags().Changed("impl") {
				f.impls = nil
			}
			return a.load(cmd.Context(), f)
		},
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
	f.addKeys(fs)
	fs.StringSliceVar(&f.faults, "fault", nil, "a disturbance at a time: `KIND@AT+FOR`; repeatable; kinds "+strings.Join(runner.LoadFaults(), ", "))
	fs.StringSliceVar(&f.thresholds, "threshold", nil, "what must hold: `METRIC<VALUE`, e.g. 'p99<50ms'")
	fs.BoolVar(&f.compare, "compare", false, "load the floor too, and say the ratios")
	fs.BoolVar(&f.pipeline, "pipeline", true, "let concurrent requests to coordinators share pipelines to Redis")
	fs.StringVar(&f.out.form, "format", "table", "`format`: table, json")
	fs.StringVarP(&f.out.output, "output", "o", "", "write to this `file` instead of stdout")
	fs.StringVar(&f.out.log, "hlog", "", "write a log of HdrHistogram to this `file`, a line for each moment")
	f.shard.add(cmd)
	f.target.addServices(cmd, "load")
	f.store.add(cmd)
	f.coordinator.add(cmd)
	complete(cmd, "impl", a.implNames)
	return cmd
}

// addKeys adds what says which keys come again, and how.
func (f *loadFlags) addKeys(fs *pflag.FlagSet) {
	fs.Float64Var(&f.plan.Duplicates, "duplicates", 0.2, "share of keys that come again")
	fs.IntVar(&f.plan.FanOut, "fan-out", 1, "how often such a key comes again")
	fs.Float64Var(&f.plan.JustAfter, "just-after", 0.2, "share of duplicates that come just after; the others come in flight")
	fs.Float64Var(&f.plan.Later, "later", 0.1, "share of duplicates that come a second later")
	fs.DurationVar(&f.plan.Window, "window", load.DefaultWindow, "how soon a duplicate in flight comes")
	fs.IntVar(&f.plan.Hot, "hot-keys", 0, "how many keys are asked for again and again")
	fs.Float64Var(&f.plan.HotShare, "hot", 0.1, "share of requests for hot keys")
	fs.Float64Var(&f.plan.Payloads, "payloads", 0, "share of duplicates with another amount")
	fs.Float64Var(&f.plan.Aborts, "aborts", 0, "share of clients that leave")
}

func (a *app) load(ctx context.Context, f loadFlags) error {
	w, err := a.loadWork(f)
	if err != nil {
		return err
	}
	files, err := f.out.open()
	if err != nil {
		return err
	}
	defer files.close()
	b, err := backend.Open(ctx, f.store.spec(a.env))
	if err != nil {
		return storeError(f.store.name, err)
	}
	defer func() { _ = b.Close() }()
	w.common.Backend = b
	if why := w.unshardable(f, b.Kind()); why != "" {
		return usage("%s", why)
	}
	doc := load.Document{Schema: load.Schema, Tool: load.Tool{Version: toolVersion(), Go: runtime.Version()}, Started: started(w.common.Plan), Store: b.Kind(), Loads: []load.Report{}}
	doc.Plan, doc.Shard = w.common.Plan.Doc()
	doc.Settings = w.settings()
	w.common.Log = files.newLog(doc.Started)
	rounds, failed := a.loadRounds(ctx, w)
	switch {
	case errors.Is(failed, runner.ErrFault):
		return about("fault", failed)
	case failed != nil && len(rounds) == 0:
		return failed
	case failed != nil:
		doc.Trouble = failed.Error()
	}
	for _, r := range rounds {
		doc.Loads = append(doc.Loads, load.Joined(r))
	}
	if f.compare {
		doc.Ratios = load.Ratios(rounds, runner.Floor)
	}
	return a.loadEnd(ctx, f.out.form, files, files.endLog(w.common.Log), doc, w.limits)
}

// started is when a load begins: now, or when it was agreed on.
func started(p load.Plan) time.Time {
	if p.Begin.IsZero() {
		return time.Now().UTC()
	}
	return p.Begin.UTC()
}

// loadWork is what a command line asks for.
type loadWork struct {
	common   runner.LoadConfig
	entries  []impl.Entry
	services config.Config
	limits   []threshold
	rounds   int // of each target, in turns
}

// loadWork refuses what it must before anything is opened.
func (a *app) loadWork(f loadFlags) (w loadWork, err error) {
	w.common = runner.LoadConfig{Coordinator: f.coordinator.config(), Takes: f.takes, OneByOne: !f.pipeline}
	if w.common.Plan, err = f.wanted(a); err != nil {
		return w, err
	}
	w.common.Coordinator.Retention = f.shard.keep(f.coordinator.retention, w.common.Plan.For)
	if len(f.impls) > 0 {
		if w.entries, err = a.pickTargets(f.impls); err != nil {
			return w, err
		}
	}
	if w.limits, err = thresholds(f.thresholds); err != nil {
		return w, err
	}
	for _, text := range f.faults {
		fault, err := runner.ParseLoadFault(text)
		if err != nil {
			return w, usage("--fault %v", err)
		}
		if span := w.common.Plan.For; span > 0 && fault.At >= span {
			return w, usage("--fault %s: the load has ended by then; give it longer than --for %v", text, span)
		}
		if i := slices.IndexFunc(w.common.Faults, fault.Clashes); i >= 0 {
			return w, usage("--fault %s: the end of one would undo the other: %v; write one that lasts as long", text, w.common.Faults[i])
		}
		w.common.Faults = append(w.common.Faults, fault)
	}
	if f.target.wanted() {
		if w.services, err = f.target.load(a, f.store.remote); err != nil {
			return w, err
		}
	}
	switch {
	case f.compare && len(w.entries) == 0:
		return w, usage("--compare is of coordinators of this process; name some: --impl wait --compare")
	case f.compare:
		w.entries = append(w.entries, impl.Entry{})
	}
	if n := len(w.entries) + len(w.services.Targets); n > 1 && !w.common.Plan.Begin.IsZero() {
		return w, usage("--start-at is for one target, and there are %d: no shard knows when the others' second begins; load one at a time", n)
	}
	w.rounds = f.rounds(w.common)
	return w, nil
}

const (
	// mostRounds is enough for a median, and shortestRound for a rate.
	mostRounds    = 9
	shortestRound = 500 * time.Millisecond
)

// rounds is how often targets that are compared take turns: what disturbs the machine
// disturbs all alike. A load with faults has one round, in which they have their time.
func (f loadFlags) rounds(c runner.LoadConfig) int {
	if !f.compare || len(c.Faults) > 0 || c.Plan.Shards > 1 {
		return 1
	}
	rounds := int64(mostRounds)
	if c.Plan.For > 0 {
		rounds = min(max(int64(c.Plan.For/shortestRound), 1), rounds)
	}
	if c.Plan.Requests > 0 { // of none at all a round would not end
		rounds = min(rounds, c.Plan.Requests)
	}
	return int(rounds)
}

// loadRounds loads all targets in turns, and returns what each had in each round: of a
// load that was interrupted, or that a target ended, what there is of those that had
// something. Errors: a target's.
func (a *app) loadRounds(ctx context.Context, w loadWork) (all [][]load.Report, err error) {
	targets := w.loads(a)
	all = make([][]load.Report, len(targets))
	defer func() { all = slices.DeleteFunc(all, func(r []load.Report) bool { return len(r) == 0 }) }()
	for round := range w.rounds {
		plan := w.common.Plan
		plan.Seed += int64(round)
		plan.For, plan.Requests = plan.For/time.Duration(w.rounds), plan.Requests/int64(w.rounds)
		for i := range targets {
			i = (i + round) % len(targets) // nobody is always the first
			r, err := targets[i](ctx, plan)
			if err == nil {
				all[i] = append(all[i], r)
			}
			switch {
			case ctx.Err() != nil:
				return all, nil
			case err != nil:
				return all, err
			}
		}
	}
	return all, nil
}

// settings are what the document says of how targets were told.
func (w loadWork) settings() load.Settings {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	c := w.common.Coordinator
	return load.Settings{ProviderMS: ms(w.common.Takes), StorePolicy: string(c.StoreDown), LeaseMS: ms(c.Lease), RetentionMS: ms(c.Retention), WaitLimitMS: ms(c.WaitLimit), Pipeline: !w.common.OneByOne}
}

// loads are the loads to run, one after the other.
func (w loadWork) loads(a *app) (all []func(context.Context, load.Plan) (load.Report, error)) {
	for _, e := range w.entries {
		all = append(all, func(ctx context.Context, plan load.Plan) (load.Report, error) {
			cfg := w.common
			cfg.Entry, cfg.Plan = e, plan
			return a.loadOne(ctx, cmp.Or(e.Name, runner.Floor), cfg, runner.Load)
		})
	}
	for _, t := range w.services.Targets {
		svc := runner.ServiceConfig{Service: t, Dir: w.services.Dir, Environ: a.environ(), Hide: hiding(w.common.Backend, w.services.Secrets), Backend: w.common.Backend}
		all = append(all, func(ctx context.Context, plan load.Plan) (load.Report, error) {
			cfg := w.common
			cfg.Plan = plan
			return a.loadOne(ctx, t.Name, cfg, func(ctx context.Context, cfg runner.LoadConfig) (load.Report, error) {
				return runner.LoadService(ctx, svc, cfg)
			})
		})
	}
	return all
}

func (f loadFlags) wanted(a *app) (load.Plan, error) {
	pace, err := f.pace()
	if err != nil {
		return load.Plan{}, err
	}
	if err := loadFormat(f.out.form); err != nil {
		return load.Plan{}, err
	}
	p := f.plan
	p.Seed, p.Pace, p.For, p.Requests = f.seed, pace, f.span, f.requests
	if err := f.shard.apply(&p, a); err != nil {
		return p, err
	}
	if err := p.Check(); err != nil {
		return p, usage("%s; see idemrace load --help", strings.TrimPrefix(err.Error(), "load: "))
	}
	if f.takes < 0 || f.takes > longestCharge {
		return p, usage("--provider %v: from 0 to %v, e.g. --provider 5ms", f.takes, longestCharge)
	}
	return p, f.coordinator.check()
}

// longestCharge is how long latencies are recorded.
const longestCharge = 10 * time.Minute

// loadOne loads one target, and shows how far it is.
func (a *app) loadOne(ctx context.Context, name string, cfg runner.LoadConfig, run func(context.Context, runner.LoadConfig) (load.Report, error)) (load.Report, error) {
	p := a.progress()
	defer p.clear()
	p.doing(name + ": getting ready")
	line := &loadLine{name: name, span: cfg.Plan.For, most: cfg.Plan.Requests, faults: cfg.Faults}
	cfg.Progress = func(s load.Snapshot) { p.doing(line.say(s)) }
	return run(ctx, cfg)
}

// loadEnd writes a load, and says how it ended: written is the error of what was to be
// written besides. Shards are those that were interrupted, by name.
func (a *app) loadEnd(ctx context.Context, form string, files *loadFiles, written error, doc load.Document, limits []threshold, shards ...string) error {
	written = errors.Join(written, a.write(form, files, doc))
	var crossed, trouble []string
	if doc.Trouble != "" {
		trouble = append(trouble, doc.Trouble)
	}
	for _, r := range doc.Loads {
		if r.Trouble != "" {
			trouble = append(trouble, r.Target+": "+r.Trouble)
		}
		for _, l := range limits {
			if r.Target != runner.Floor && !l.holds(r) {
				crossed = append(crossed, fmt.Sprintf("%s of %s is %s", l.text, r.Target, l.value(r)))
			}
		}
	}
	code, why := ExitOK, "done"
	switch {
	case len(shards) > 0:
		code, why = ExitInterrupted, "interrupted in "+strings.Join(shards, ", ")
	case ctx.Err() != nil:
		code, why = ExitInterrupted, "interrupted"
	case len(crossed) > 0:
		code, why = ExitUnexpected, "a threshold is crossed: "+strings.Join(crossed, "; ")
	case len(trouble) > 0:
		code, why = ExitCouldNotRun, strings.Join(trouble, "; ")
	case written != nil:
		return written
	}
	if written != nil {
		a.complain(written.Error())
	}
	fmt.Fprintf(a.stderr, "exit %d: %s\n", code, why)
	if code == ExitOK {
		return nil
	}
	return verdictError{code}
}
