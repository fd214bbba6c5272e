package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/config"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// targetFlags say which services are raced.
type targetFlags struct {
	config string
	names  []string
	dryRun bool
	budget time.Duration

	listen, advertise string // the provider's, where the configuration says nothing
}

// usualProvider is where the provider listens for a service that runs already and must
// have been told: the port that Stripe's own mock has.
const usualProvider = "127.0.0.1:12111"

// usualPort is its port; a second service's provider has the next one.
const usualPort = 12111

func (f *targetFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.addServices(cmd, "race")
	fs.BoolVar(&f.dryRun, "dry-run", false, "print the requests that services would be sent, and send none")
	fs.DurationVar(&f.budget, "budget", 0, "begin no cell after this `time`; what finds most in a second goes first")
}

// addServices is for verbs that only ask which services; do is what they do to them.
func (f *targetFlags) addServices(cmd *cobra.Command, do string) {
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", do+" the services that this `file` describes (idemrace init writes one)")
	fs.StringSliceVar(&f.names, "target", nil, do+" the running service at this `URL`; with --config: only these of its targets, by name")
	fs.StringVar(&f.listen, "listen", "", "`address` of the fake provider for services that cannot be told one (--target: "+usualProvider+")")
	fs.StringVar(&f.advertise, "advertise", "", "`address` by which workers reach it, where that is another")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// wanted: services are raced, and coordinators only if they are named.
func (f *targetFlags) wanted() bool { return f.config != "" || len(f.names) > 0 }

// load reads the configuration, or makes one of the URLs.
func (f *targetFlags) load(a *app, remote bool) (config.Config, error) {
	cfg, err := f.read(a)
	if err != nil {
		return cfg, err
	}
	f.place(&cfg)
	if away := cfg.Remote(); len(away) > 0 && !remote {
		return cfg, usage("%s is not on this machine; --allow-remote lets it be raced: it will be sent requests that charge", strings.Join(away, ", "))
	}
	return cfg, nil
}

// place says where the provider listens.
func (f *targetFlags) place(cfg *config.Config) {
	for i := range cfg.Targets {
		p := &cfg.Targets[i].Provider
		if p.Listen == "" && f.config == "" {
			p.Listen = cmp.Or(f.listen, fmt.Sprintf("127.0.0.1:%d", usualPort+i))
		}
		p.Listen = cmp.Or(p.Listen, f.listen)
		if p.Advertise == "" {
			p.Advertise = f.advertise
		}
	}
}

func (f *targetFlags) read(a *app) (config.Config, error) {
	lookup := func(name string) (string, bool) { v, ok := a.env[name]; return v, ok }
	if f.config != "" {
		cfg, err := config.Load(f.config, lookup)
		if err != nil {
			return cfg, usage("%v", err)
		}
		return f.choose(cfg)
	}
	var all config.Config
	for _, url := range f.names {
		if !strings.Contains(url, "://") {
			return all, usage("--target %s is no URL; write e.g. --target http://127.0.0.1:8080/charges, or give --config FILE, which names targets", url)
		}
		cfg, err := config.Simple(url)
		if err != nil {
			return all, usage("--target %s: %v", url, err)
		}
		all.Targets = append(all.Targets, cfg.Targets...)
	}
	return distinct(all)
}

// own reads the scenarios that the configuration names, beside it.
func own(cfg config.Config) ([]scenarios.Scenario, error) {
	var all []scenarios.Scenario
	for _, path := range cfg.Scenarios {
		if !filepath.IsAbs(path) {
			path = filepath.Join(cfg.Dir, path)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, usage("%v", err)
		}
		s, err := scenarios.Decode(path, text)
		if err != nil {
			return nil, usage("%v", err)
		}
		if _, taken := scenarios.Lookup(s.Name); taken || slices.ContainsFunc(all, func(o scenarios.Scenario) bool { return o.Name == s.Name }) {
			return nil, usage("%s: the name %s is taken; give the scenario one of its own", path, s.Name)
		}
		all = append(all, s)
	}
	return all, nil
}

// scenes are the scenarios that run: those that are asked for at the prompt, else those
// of the configuration, else all.
func scenes(asked []string, cfg config.Config) ([]scenarios.Scenario, error) {
	mine, err := own(cfg)
	if err != nil {
		return nil, err
	}
	for _, k := range cfg.Accept {
		if !known(k.Scenario, mine) {
			return nil, usage("accept: %v", unknown("scenario", k.Scenario, scenarioNames(), "idemrace list scenarios"))
		}
	}
	if len(asked) == 0 {
		asked = cfg.Run
	}
	if len(asked) == 0 {
		return append(mine, scenarios.All()...), nil
	}
	var picked []scenarios.Scenario
	var builtin []string
	for _, name := range asked {
		if i := slices.IndexFunc(mine, func(s scenarios.Scenario) bool { return s.Name == name }); i >= 0 {
			picked = append(picked, mine[i])
		} else {
			builtin = append(builtin, name)
		}
	}
	if len(builtin) == 0 {
		return picked, nil
	}
	others, err := pickScenarios(builtin)
	return append(picked, others...), err
}

func known(name string, mine []scenarios.Scenario) bool {
	_, builtin := scenarios.Lookup(name)
	return builtin || slices.ContainsFunc(mine, func(s scenarios.Scenario) bool { return s.Name == name })
}

// distinct refuses two targets of one name.
func distinct(cfg config.Config) (config.Config, error) {
	for i, t := range cfg.Targets {
		if slices.ContainsFunc(cfg.Targets[:i], func(o config.Service) bool { return o.Name == t.Name }) {
			return cfg, usage("two targets are named %s; a configuration can name them apart: idemrace init", t.Name)
		}
	}
	return cfg, nil
}

// choose keeps the targets that are named.
func (f *targetFlags) choose(cfg config.Config) (config.Config, error) {
	if len(f.names) == 0 {
		return cfg, nil
	}
	var known []string
	for _, t := range cfg.Targets {
		known = append(known, t.Name)
	}
	for _, name := range f.names {
		if !slices.Contains(known, name) {
			return cfg, about("target", unknown("target", name, known, f.config))
		}
	}
	cfg.Targets = slices.DeleteFunc(cfg.Targets, func(t config.Service) bool { return !slices.Contains(f.names, t.Name) })
	return cfg, nil
}

// withServices opens what the configuration describes, runs, and closes it.
func (a *app) withServices(ctx context.Context, services config.Config, cfg runner.Config, run func(runner.Config) *repeats) (done *repeats, err error) {
	defer func() {
		for _, s := range slices.Backward(cfg.Services) {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, t := range services.Targets {
		s, err := runner.OpenService(ctx, runner.ServiceConfig{Service: t, Dir: services.Dir, Environ: a.environ(),
			Hide: hiding(cfg.Backend, services.Secrets), Backend: cfg.Backend})
		if err != nil && ctx.Err() != nil {
			return neverRan(cfg, services.Targets...), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w", err)
		}
		cfg.Services = append(cfg.Services, s)
	}
	return run(cfg), nil
}

// dryRun prints the requests that would be sent, scenario by scenario.
func (a *app) dryRun(services config.Config, cfg runner.Config) error {
	var out strings.Builder
	for _, t := range services.Targets {
		text, err := runner.Requests(t, cfg.Scenarios)
		if err != nil {
			return usage("target %s: %v", t.Name, err)
		}
		out.WriteString(text)
	}
	hide := secretHider(services.Secrets)
	return a.print([]byte(hide(out.String())))
}

// accept marks the known findings of a run.
func accept(run *results.Run, services config.Config) {
	var known []results.Acceptance
	for _, k := range services.Accept {
		known = append(known, results.Acceptance{Invariant: k.Invariant, Scenario: k.Scenario, Target: k.Target, Reason: k.Reason, Until: k.Until})
	}
	if len(known) > 0 {
		run.Accept(known, time.Now())
	}
}

// environ is the environment as processes take it.
func (a *app) environ() []string {
	var lines []string
	for name, value := range a.env {
		lines = append(lines, name+"="+value)
	}
	slices.Sort(lines)
	return lines
}

// hiding takes secrets out of a text: the store's password, and what came from the
// environment by the configuration.
func hiding(b *backend.Backend, secrets []string) func(string) string {
	hide := secretHider(secrets)
	return func(text string) string { return b.Hide(hide(text)) }
}

// secretHider takes what came from the environment out of a text, the longest first.
func secretHider(secrets []string) func(string) string {
	longest := slices.Clone(secrets)
	slices.SortFunc(longest, func(x, y string) int { return len(y) - len(x) })
	var pairs []string
	for _, s := range longest {
		pairs = append(pairs, s, "…")
	}
	return strings.NewReplacer(pairs...).Replace
}
