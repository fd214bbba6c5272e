package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/config"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// runFlags are the flags of run.
type runFlags struct {
	pick        pickFlags
	target      targetFlags
	store       storeFlags
	coordinator coordinatorFlags
	output      outputFlags
	save        string
	repeat      int
}

func (a *app) runVerb() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run scenarios on coordinators or a service, and judge them by the ledger",
		Long: "run sends the attempts of each scenario to each coordinator, disturbs what the\n" +
			"scenario disturbs, and judges what happened. Responses never decide alone: the\n" +
			"provider's ledger does.\n\n" +
			"--config races HTTP services, in any language, as the file describes them; --target a\n" +
			"service that runs already. Coordinators then run only if --impl names them.\n\n" +
			"--gate closes on any double charge, expected or not, but for scenarios that are\n" +
			"at-least-once by nature (the owner dies, the lease is overrun): there no coordinator\n" +
			"can both recover and charge once without the provider's help. --gate=strict\n" +
			"includes them.\n\n" + exitTable(),
		Example: "  idemrace run --scenario in-flight\n" +
			"  idemrace run --impl wait,raise --gate\n" +
			"  idemrace run --store redis://127.0.0.1:6379 --save results/today\n" +
			"  idemrace run --format table,junit=report.xml,json=run.json\n" +
			"  idemrace run --scenario burst --repeat 50\n" +
			"  idemrace run --config idemrace.yaml --gate --budget 60s\n" +
			"  idemrace run --target http://127.0.0.1:8080/charges --scenario in-flight",
		Args: runArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd, f) },
	}
	f.pick.add(a, cmd, impl.Article)
	f.target.add(cmd)
	f.store.add(cmd)
	f.coordinator.add(cmd)
	f.output.add(cmd)
	cmd.Flags().StringVar(&f.save, "save", "", "keep the run and its histories in this `directory`, for check and report")
	cmd.Flags().IntVar(&f.repeat, "repeat", 1, "run the whole this many times; a verdict that differs is exit 1")
	return cmd
}

// runArguments knows the mistake that a flag with an optional value invites.
func runArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] == string(gateStrict) {
		return usage("run takes no argument, got %q; did you mean --gate=strict?", args[0])
	}
	return noArguments(cmd, args)
}

func (f *runFlags) check() error {
	if err := f.pick.check(); err != nil {
		return err
	}
	if f.repeat < 1 {
		return usage("--repeat %d: it must run at least once, e.g. --repeat 10", f.repeat)
	}
	return f.coordinator.check()
}

// run refuses what it must before anything is opened; what it opens is closed
// before the result is shown, so that a reader who leaves early leaves nothing
// behind.
func (a *app) run(cmd *cobra.Command, f runFlags) error {
	pick := f.pick
	if f.target.wanted() {
		pick.scenarios = nil // picked below, from the configuration's own too
	}
	cfg, err := a.runnerConfig(pick, f.coordinator)
	var services config.Config
	if err == nil && f.target.wanted() {
		services, err = f.target.load(a, f.store.remote)
		if !cmd.Flags().Changed("impl") {
			cfg.Targets = nil
		}
		cfg.Budget = f.target.budget
		if err == nil {
			cfg.Scenarios, err = scenes(f.pick.scenarios, services)
		}
		if err == nil && f.target.dryRun {
			return a.dryRun(services, cfg)
		}
	}
	if err == nil {
		err = f.check()
	}
	if err == nil {
		err = checkSave(f.save)
	}
	if err == nil {
		err = f.output.checkMatrix()
	}
	if err != nil {
		return err
	}
	out, err := f.output.open(a)
	if err != nil {
		return err
	}
	defer out.close()
	done, err := a.onStore(cmd.Context(), f.store, cfg, func(cfg runner.Config) (*repeats, error) {
		return a.withServices(cmd.Context(), services, cfg, func(cfg runner.Config) *repeats { return a.repeat(cmd.Context(), cfg, f.repeat, outcome) })
	})
	if err != nil {
		return err
	}
	done.worst.Gate = f.output.gate.word()
	done.worst.Config = f.target.config
	accept(&done.worst, services)
	saving := done.save(f.save)
	if err := errors.Join(saving, out.write(done.worst)); err != nil {
		return err
	}
	done.say(out)
	end := conclude(done.worst, f.output.gate, done.differing)
	return out.exitLines(end, reproduce(cmd, done.worst, end.cells))
}

// runnerConfig resolves names.
func (a *app) runnerConfig(p pickFlags, c coordinatorFlags) (runner.Config, error) {
	cfg := runner.Config{Parallel: p.parallel, Timeout: p.timeout, Seed: p.seed, Version: toolVersion(), Coordinator: c.config()}
	var err error
	if cfg.Scenarios, err = pickScenarios(p.scenarios); err != nil {
		return cfg, err
	}
	if cfg.Targets, err = a.pickTargets(p.impls); err != nil {
		return cfg, err
	}
	if a.flags.verbose {
		cfg.Coordinator.Logger = slog.New(slog.NewTextHandler(a.stderr, nil))
	}
	return cfg, nil
}

// withStore runs cfg on the store, which is closed when it returns.
func (a *app) withStore(ctx context.Context, f storeFlags, cfg runner.Config, times int, outcome func(results.Cell) string) (*repeats, error) {
	return a.onStore(ctx, f, cfg, func(cfg runner.Config) (*repeats, error) { return a.repeat(ctx, cfg, times, outcome), nil })
}

// onStore opens the store, runs, and closes it.
func (a *app) onStore(ctx context.Context, f storeFlags, cfg runner.Config, run func(runner.Config) (*repeats, error)) (done *repeats, err error) {
	b, err := backend.Open(ctx, f.spec(a.env))
	if err != nil {
		if ctx.Err() != nil {
			return neverRan(cfg), nil
		}
		return nil, storeError(f.name, err)
	}
	defer func() {
		if closing := b.Close(); closing != nil && err == nil {
			err = fmt.Errorf("closing the store: %w", closing)
		}
	}()
	cfg.Backend = b
	return run(cfg)
}

// storeError tells mistakes from surroundings that cannot serve.
func storeError(name string, err error) error {
	switch {
	case errors.Is(err, backend.ErrUnknown):
		return about("store", usage("%w; see: idemrace list stores", err))
	case errors.Is(err, backend.ErrRemote):
		return about("store", err)
	case errors.Is(err, backend.ErrMissing):
		return err
	}
	if errors.Is(err, backend.ErrReaper) {
		return fmt.Errorf("%w; TESTCONTAINERS_RYUK_DISABLED=true does without it (a run that is killed then leaves its container), --store embedded without Docker", err)
	}
	if name == backend.Container {
		return fmt.Errorf("%w; is the image here? --redis-image names another, --store embedded needs none", err)
	}
	return fmt.Errorf("%w; is it running? --store embedded needs none", err)
}

// neverRan is the run that was interrupted before it began: its document says
// which cells there would have been.
func neverRan(cfg runner.Config, services ...config.Service) *repeats {
	run := results.Run{Schema: results.Schema, Seed: cfg.Seed, Started: time.Now().UTC(), Interrupted: true,
		Tool: results.Tool{Version: cfg.Version, Go: runtime.Version()}}
	each(cfg, func(s scenarios.Scenario, e impl.Entry) {
		run.Cells = append(run.Cells, results.Cell{Scenario: s.Name, Title: s.Title, Target: e.Name, AtLeastOnce: s.AtLeastOnce,
			Status: results.CouldNotRun, Why: "interrupted", Expected: results.ExpectNone})
	})
	for _, s := range cfg.Scenarios {
		for _, t := range services {
			run.Cells = append(run.Cells, results.Cell{Scenario: s.Name, Title: s.Title, Target: t.Name, AtLeastOnce: s.AtLeastOnce, Service: true,
				Status: results.CouldNotRun, Why: "interrupted", Expected: results.ExpectNone})
		}
	}
	run.Summary = results.Summarise(run.Cells)
	return &repeats{worst: run, runs: 1, times: 1}
}

func each(cfg runner.Config, visit func(scenarios.Scenario, impl.Entry)) {
	for _, s := range cfg.Scenarios {
		for _, e := range cfg.Targets {
			visit(s, e)
		}
	}
}
