package cli

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/store/backend"
)

// storeFlags say which store serves.
type storeFlags struct {
	name, image string
	remote      bool
}

func (f *storeFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.name, "store", backend.Auto, "`store`: auto, embedded, redis-server, container, memory, or a redis:// URL")
	fs.StringVar(&f.image, "redis-image", backend.DefaultImage, "`image` that --store container runs")
	fs.BoolVar(&f.remote, "allow-remote", false, "let a store be used that is not on this machine")
	complete(cmd, "store", func() []string { return backend.Names() })
}

func (f *storeFlags) spec(env environment) backend.Spec {
	return backend.Spec{Name: f.name, URL: env["REDIS_URL"], Image: f.image, AllowRemote: f.remote}
}

// coordinatorFlags are what every coordinator is told.
type coordinatorFlags struct {
	policy                      string
	lease, retention, waitLimit time.Duration
}

func (f *coordinatorFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.policy, "store-policy", "", "`policy` when the store is down: open or closed (default: the coordinator's own)")
	fs.DurationVar(&f.lease, "lease", reservation.DefaultLease, "how long a claim is exclusive")
	fs.DurationVar(&f.retention, "retention", reservation.DefaultRetention, "how long a record lives, at least 1m")
	fs.DurationVar(&f.waitLimit, "wait-limit", reservation.DefaultWaitLimit, "how long a duplicate waits for the first")
	complete(cmd, "store-policy", func() []string {
		return []string{string(reservation.FailOpen), string(reservation.FailClosed)}
	})
}

// shortestLease: below it a busy machine's stalls would be taken for dead owners.
const shortestLease = time.Second

func (f *coordinatorFlags) check() error {
	switch {
	case f.lease < shortestLease:
		return usage("--lease %v: a stall of the machine would end it; give at least %v, e.g. --lease 30s", f.lease, shortestLease)
	case f.retention < reservation.MinRetention:
		return usage("--retention %v is less than %v: a record must outlive the client's retries, e.g. --retention 24h", f.retention, reservation.MinRetention)
	case f.lease >= f.retention:
		return usage("--lease %v is not shorter than --retention %v: a record must outlive its lease; lower the one or raise the other", f.lease, f.retention)
	case f.waitLimit <= 0:
		return usage("--wait-limit %v: a waiter must wait for some time, e.g. --wait-limit 10s", f.waitLimit)
	}
	switch reservation.Policy(f.policy) {
	case "", reservation.FailOpen, reservation.FailClosed:
		return nil
	}
	return usage("--store-policy %q: it is open (run unprotected) or closed (refuse)", f.policy)
}

func (f *coordinatorFlags) config() reservation.Config {
	return reservation.Config{Lease: f.lease, Retention: f.retention, WaitLimit: f.waitLimit, StoreDown: reservation.Policy(f.policy)}
}

// pickFlags say what runs.
type pickFlags struct {
	scenarios, impls []string
	seed             int64
	parallel         int
	timeout          time.Duration
}

// defaultSeed: a run without --seed is the same run each time.
const defaultSeed = 1

func (f *pickFlags) addImpl(a *app, cmd *cobra.Command, usual string) {
	cmd.Flags().StringSliceVar(&f.impls, "impl", []string{usual}, "coordinators, by `name` or group; repeatable")
	complete(cmd, "impl", a.implNames)
}

func (f *pickFlags) add(a *app, cmd *cobra.Command, usual string) {
	fs := cmd.Flags()
	fs.StringSliceVar(&f.scenarios, "scenario", nil, "scenarios, by `name`; repeatable (default: all)")
	complete(cmd, "scenario", scenarioNames)
	f.addImpl(a, cmd, usual)
	f.addPace(fs)
	fs.IntVar(&f.parallel, "parallel", runner.DefaultParallel(), "cells at once")
	fs.Lookup("parallel").DefValue = "4 per core"
}

func (f *pickFlags) addPace(fs *pflag.FlagSet) {
	fs.Int64Var(&f.seed, "seed", defaultSeed, "seed of owner tokens; in every record")
	fs.DurationVar(&f.timeout, "timeout", runner.DefaultTimeout, "time for one cell")
}

func (f *pickFlags) check() error {
	switch {
	case f.parallel < 1:
		return usage("--parallel %d: at least one cell must run at once, e.g. --parallel 1", f.parallel)
	case f.timeout <= 0:
		return usage("--timeout %v: a cell needs some time, e.g. --timeout %v", f.timeout, runner.DefaultTimeout)
	}
	return nil
}

// complete completes the last of a flag's comma separated values.
func complete(cmd *cobra.Command, flag string, names func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completions(typed, names()), cobra.ShellCompDirectiveNoFileComp
	})
}
