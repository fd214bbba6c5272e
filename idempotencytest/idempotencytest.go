// Package idempotencytest examines anybody's [idempotency.Coordinator], from
// anybody's go test: it sends racing attempts, holds the provider, cuts the store,
// kills and freezes workers, ends leases, and judges what came of it by the ledger of
// a provider of its own. Start at [TestCoordinator].
//
// There is one subtest for each invariant, named by it, e.g.
// TestMine/effect/at-most-once. One that fails says for each scenario because of
// what, draws the timeline of what happened, and ends with the line that runs it
// again. Told apart, in the subtest "scenarios": what could not run and what was
// inconclusive (the race that the scenario is about did not happen) are failures;
// what does not apply to this coordinator and what could not be examined in it are
// logged, and shown by go test -v.
//
// A coordinator may stand on the ports, Env.Store or Env.KV, or on a client of its
// own, made from Env.RedisURL. Of the latter the package does not see what it asks
// of its store: laws about records do not apply to it, a scenario that counts store
// calls does not either, and a store fault that is aimed at one command may not find
// it. Two conventions help: names begin with Env.Prefix (they are deleted at the end),
// and a claim is a string value, a JSON object with "state":"pending". Then its lease
// can be ended by command; else see Options.EndLeases.
//
// The package reads no environment and no flags: the seed is Options.Seed, and every
// failure says it. Whoever wants a flag hands it in. go-redis writes of each
// connection that a scenario refuses; redisstore.Quiet, in a TestMain, stops that. It knows none of the coordinators
// of package impl. It refuses to say how fast a coordinator is.
package idempotencytest

import (
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store"
)

// Env is what a coordinator is made from: that of one worker, in one scenario.
// A constructor takes from it what it needs.
type Env struct {
	// RedisURL is for a client of the coordinator's own. It leads through a proxy
	// that belongs to this worker and may be cut, held or slowed. It is "" on the
	// memory store, and leads to the store itself where no proxy can stand: TLS, a
	// cluster.
	RedisURL string
	// Prefix must begin every name in that Redis: other scenarios run at the same
	// time, and everything under it is deleted at the end.
	Prefix string
	// Store and KV are the same store by the ports of package store. They add the
	// prefix by themselves, and what is asked of them is recorded and judged.
	Store store.Store
	KV    store.KV
	Clock clock.Clock
	// Config is what the scenario asks for: Lease, Retention, WaitLimit, StoreDown
	// (if it asks for a policy) and MaxResult; and OnOrphan, to be told of effects
	// that no answer names. See Options for what cannot be followed.
	Config reservation.Config
	// HonoursKeys: the provider of this scenario answers a second call with one key
	// by the outcome of the first.
	HonoursKeys bool
}

// TestCoordinator examines a coordinator in every scenario. new makes it, once for
// each worker of each scenario, at the same time for several. What it opens, it
// closes with the Cleanup of its testing.TB, which is called when the scenario is
// over; if it cannot make one it calls Fatal.
//
// All scenarios are played before the first subtest, also when -run picks one;
// Options.Scenarios picks scenarios.
func TestCoordinator(t *testing.T, new func(testing.TB, Env) idempotency.Coordinator, opts Options) {
	t.Helper()
	cfg := opts.config(t)
	cfg.Targets = []impl.Entry{opts.entry(t, new)}
	look(t, &cfg)
	x := &exam{opts: opts, entry: cfg.Targets[0], foreign: map[string]string{}}
	for _, s := range cfg.Scenarios {
		if why := opts.foreign(s); why != "" {
			x.foreign[s.Name] = why
		}
	}
	cfg.Scenarios = x.fitting(cfg.Scenarios)
	x.scenarios = cfg.Scenarios
	x.run, x.histories = runner.Run(t.Context(), cfg)
	t.Run("scenarios", x.played)
	for _, inv := range check.All() {
		t.Run(inv.ID, func(t *testing.T) { x.judge(t, inv) })
	}
}

// look finds out whether the coordinator stands on the ports: one attempt and a
// retry show it.
func look(t *testing.T, cfg *runner.Config) {
	t.Helper()
	glance := *cfg
	s, _ := scenarios.Lookup("sequential-retry")
	glance.Scenarios = []scenarios.Scenario{s}
	run, histories := runner.Run(t.Context(), glance)
	for _, h := range histories {
		cfg.Targets[0].Unseen = !h.Header.Inspected
		return
	}
	t.Fatalf("idempotencytest: the coordinator could not be tried: %s", run.Cells[0].Why)
}
