package idempotencytest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// DefaultSeed is used where Options has none: a test is the same test each time.
const DefaultSeed = 1

// Options of an examination. The zero value examines everything, and expects that
// everything holds and that the constructor follows Env.Config.
type Options struct {
	// Scenarios to play, by name; none means all. "idemrace list scenarios" lists
	// them, "idemrace explain NAME" tells each.
	Scenarios []string
	// Store is auto, embedded, redis-server, container, memory, or the redis:// URL
	// of a Redis on this machine; "" means auto: a private redis-server if there is
	// one on the PATH, else a Redis in this process.
	Store string
	// Lacks is what the coordinator is known not to keep: an invariant under a stress,
	// unless a need is met. What is lacked may be violated there; where a scenario
	// surely exposes it, it must be, or the entry is out of date. What is not listed
	// must hold. No coordinator can both recover and charge once when its worker dies
	// in mid-call, unless the provider honours keys: most have a list.
	Lacks []check.Lack

	// The four below declare what the coordinator has fixed, and does not take from
	// Env.Config. Scenarios that need another lease or policy do not apply then.
	StoreDown reservation.Policy // what it does when its store is down
	Lease     time.Duration
	Retention time.Duration
	WaitLimit time.Duration

	// Prepare makes the fingerprint of a payload from the names of the members that
	// define it; nil is the contract's own, idempotency.FingerprintJSON.
	Prepare func(payload []byte, fields []string) (idempotency.Fingerprint, error)
	// EndLeases ends the lease of every claim, for coordinators that keep claims in a
	// form of their own, and returns how many it ended. Env leads past every fault;
	// a worker's Store and KV in it are not its own.
	EndLeases func(context.Context, Env) (int, error)

	Timeout  time.Duration // of one scenario; 0 means runner.DefaultTimeout
	Parallel int           // scenarios at once; 0 means runner.DefaultParallel
	Seed     int64         // of Env.Config.NewToken; 0 means DefaultSeed
}

// config opens the store and finds the scenarios, or fails the test.
func (o Options) config(t *testing.T) runner.Config {
	t.Helper()
	for _, l := range o.Lacks {
		if err := l.Validate(); err != nil {
			t.Fatalf("idempotencytest: Options.Lacks: %v", err)
		}
	}
	played, err := o.scenarios()
	if err != nil {
		t.Fatalf("idempotencytest: Options.Scenarios: %v", err)
	}
	b, err := backend.Open(t.Context(), backend.Spec{Name: o.Store})
	if err != nil {
		t.Fatalf("idempotencytest: Options.Store: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("idempotencytest: closing the store: %v", err)
		}
	})
	return runner.Config{Scenarios: played, Backend: b, Timeout: o.Timeout, Parallel: o.Parallel, Seed: o.seed(),
		Coordinator: reservation.Config{StoreDown: o.StoreDown, Lease: o.Lease, Retention: o.Retention, WaitLimit: o.WaitLimit}}
}

func (o Options) seed() int64 { return cmp.Or(o.Seed, DefaultSeed) }

func (o Options) scenarios() ([]scenarios.Scenario, error) {
	if len(o.Scenarios) == 0 {
		return scenarios.All(), nil
	}
	var picked []scenarios.Scenario
	for _, name := range o.Scenarios {
		s, ok := scenarios.Lookup(name)
		if !ok {
			return nil, fmt.Errorf("unknown scenario %q; there are: %s", name, strings.Join(names(), ", "))
		}
		picked = append(picked, s)
	}
	return picked, nil
}

func names() []string {
	var all []string
	for _, s := range scenarios.All() {
		all = append(all, s.Name)
	}
	return all
}

// foreign says why a scenario is not for a coordinator with these settings, "" if
// it is.
func (o Options) foreign(s scenarios.Scenario) string {
	set := s.Setting
	switch {
	case o.StoreDown != "" && set.StoreDown != "" && o.StoreDown != set.StoreDown:
		return fmt.Sprintf("the policy for a store that is down is declared to be %q, and this is about %q", o.StoreDown, set.StoreDown)
	case o.Lease > 0 && set.Lease > 0 && o.Lease != set.Lease:
		return fmt.Sprintf("the lease is declared to be %v, and this needs %v", o.Lease, set.Lease)
	}
	return ""
}

// target is the name of what is examined, in histories and in stored names.
const target = "coordinator"

// entry makes a catalogue entry of the user's constructor.
func (o Options) entry(t *testing.T, new func(testing.TB, Env) idempotency.Coordinator) impl.Entry {
	e := impl.Entry{
		Name: target, Policy: o.StoreDown, Lacks: o.Lacks, Prepare: o.Prepare,
		New: func(e impl.Env) (idempotency.Coordinator, error) { return construct(t, new, e) },
	}
	if o.EndLeases != nil {
		e.EndLeases = func(ctx context.Context, e impl.Env) (int, error) { return o.EndLeases(ctx, env(e)) }
	}
	return e
}

func env(e impl.Env) Env {
	return Env{RedisURL: e.RedisURL, Prefix: e.Prefix, Store: e.Store, KV: e.KV, Clock: e.Clock, Config: e.Config, HonoursKeys: e.HonoursKeys}
}
