package idempotencytest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotencytest"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/store/redisstore"
)

// TestMain keeps go-redis from writing of each connection that a test refuses.
func TestMain(m *testing.M) {
	redisstore.Quiet()
	os.Exit(m.Run())
}

// TestFenced examines the recommended coordinator in this process, in every
// scenario, as an outsider would.
func TestFenced(t *testing.T) {
	e, _ := impl.Lookup("fenced")
	idempotencytest.TestCoordinator(t, outside(e), idempotencytest.Options{Store: "embedded", Lacks: e.Lacks})
}

// TestOnMemory: without a wire, what needs one does not apply, and nothing fails.
func TestOnMemory(t *testing.T) {
	e, _ := impl.Lookup("wait")
	idempotencytest.TestCoordinator(t, outside(e), idempotencytest.Options{Store: "memory", Lacks: e.Lacks,
		Scenarios: []string{"burst", "worker-death", "redis-down", "payload-in-flight"}})
}

// TestCleanup: each worker's constructor is cleaned up after, once its scenario is
// over, last first.
func TestCleanup(t *testing.T) {
	e, _ := impl.Lookup("wait")
	var made, ended atomic.Int64
	t.Run("examined", func(t *testing.T) {
		idempotencytest.TestCoordinator(t, func(t testing.TB, env idempotencytest.Env) idempotency.Coordinator {
			made.Add(1)
			second := false
			t.Cleanup(func() {
				if !second {
					t.Error("what was registered first is called first")
				}
				ended.Add(1)
			})
			t.Cleanup(func() { second = true })
			if !strings.HasPrefix(env.RedisURL, "redis://127.0.0.1:") || env.Prefix == "" {
				t.Errorf("URL %q, prefix %q", env.RedisURL, env.Prefix)
			}
			return outside(e)(t, env)
		}, idempotencytest.Options{Store: "embedded", Scenarios: []string{"in-flight", "two-workers"}})
		if made.Load() != 4 { // one to look, one in flight, two workers
			t.Errorf("%d coordinators were made, want 4", made.Load())
		}
		if made.Load() != ended.Load() {
			t.Errorf("%d were made and %d cleaned up after", made.Load(), ended.Load())
		}
	})
}

// hanging answers the first attempt of its life, and never another.
type hanging struct {
	idempotency.Coordinator
	used *atomic.Bool
}

func (h hanging) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if h.used.CompareAndSwap(false, true) {
		return h.Coordinator.Do(ctx, req, act)
	}
	<-ctx.Done()
	return idempotency.Outcome{}, context.Cause(ctx)
}

// failures are examinations that must fail, and what they must say.
func failures() []struct {
	name, reason string
	new          func(testing.TB, idempotencytest.Env) idempotency.Coordinator
	opts         idempotencytest.Options
	says         []string
} {
	wait, _ := impl.Lookup("wait")
	cache, _ := impl.Lookup("cache")
	ok := outside(wait)
	one := []string{"in-flight"}
	return []struct {
		name, reason string
		new          func(testing.TB, idempotencytest.Env) idempotency.Coordinator
		opts         idempotencytest.Options
		says         []string
	}{
		{"unmade", "a constructor's Fatal does not hang anything", func(t testing.TB, _ idempotencytest.Env) idempotency.Coordinator {
			t.Fatal("no such luck")
			return nil
		}, idempotencytest.Options{Scenarios: one}, []string{"could not be tried", "no such luck"}},
		{"nil", "nor does nil", func(testing.TB, idempotencytest.Env) idempotency.Coordinator { return nil },
			idempotencytest.Options{Scenarios: one}, []string{"the constructor returned nil"}},
		{"skipped", "what is not examined has not passed", func(t testing.TB, _ idempotencytest.Env) idempotency.Coordinator {
			t.Skip("not today")
			return nil
		}, idempotencytest.Options{Scenarios: one}, []string{"not today"}},
		{"misspelt", "a typo examines nothing", ok, idempotencytest.Options{Scenarios: []string{"inflight"}}, []string{`unknown scenario "inflight"`, "in-flight"}},
		{"unknown-lack", "a typo excuses nothing", ok, idempotencytest.Options{Scenarios: one, Lacks: []check.Lack{{Invariant: "effect/twice", Stress: check.Overlap}}},
			[]string{`unknown invariant "effect/twice"`}},
		{"out-of-date", "a lack that does not show any more", ok, idempotencytest.Options{Scenarios: []string{"burst"},
			Lacks: []check.Lack{{Invariant: "effect/at-most-once", Stress: check.Overlap}}}, []string{"take it out of the list", "under overlap"}},
		{"double", "a violation draws what happened, and says how to see it again", outside(cache), idempotencytest.Options{Scenarios: one, Seed: 7},
			[]string{"but the ledger has ch_1", "WHAT THE CARD SEES", "reproduce: go test -count=1 -run '^TestFailures$/^double$/^effect$/^at-most-once$' .", `Scenarios: []string{"in-flight"}, Seed: 7`}},
		{"hanging", "what does not end proves nothing", func(t testing.TB, env idempotencytest.Env) idempotency.Coordinator {
			return hanging{ok(t, env), &atomic.Bool{}}
		}, idempotencytest.Options{Scenarios: []string{"sequential-retry"}, Timeout: 300 * time.Millisecond}, []string{"inconclusive: ", "replay was seen 0 times, not 1"}},
	}
}

// TestFailures runs in the child only.
func TestFailures(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("started by TestFailuresSayWhy")
	}
	for _, f := range failures() {
		t.Run(f.name, func(t *testing.T) {
			f.opts.Store = "embedded"
			idempotencytest.TestCoordinator(t, f.new, f.opts)
		})
	}
}

func TestFailuresSayWhy(t *testing.T) {
	if os.Getenv(child) != "" {
		t.Skip("this is the child")
	}
	for _, f := range failures() {
		t.Run(f.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailures$/^"+f.name+"$", "-test.timeout=1m")
			cmd.Env = append(os.Environ(), child+"=1")
			out, err := cmd.CombinedOutput()
			if err == nil || strings.Contains(string(out), "panic:") {
				t.Errorf("%s: it must fail, and not by a panic (%v)\n%s", f.reason, err, out)
			}
			for _, want := range f.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("%s: it does not say %q\n%s", f.reason, want, out)
				}
			}
		})
	}
}
