package coordinator_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.com/coordinator"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotencytest"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// TestMain keeps go-redis from writing of each connection that a scenario refuses.
func TestMain(m *testing.M) {
	redisstore.Quiet()
	os.Exit(m.Run())
}

// client is the coordinator's own: the URL leads through a proxy that can cut it.
func client(t testing.TB, env idempotencytest.Env) redis.UniversalClient {
	t.Helper()
	o, err := redis.ParseURL(env.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func config(env idempotencytest.Env) coordinator.Config {
	return coordinator.Config{Prefix: env.Prefix, Lease: env.Config.Lease, Retention: env.Config.Retention, OnOrphan: env.Config.OnOrphan}
}

// lacks is what the coordinator is known not to keep. It is honest, or the test
// fails: what is not listed must hold, and what is listed must show.
func lacks() []check.Lack {
	var all []check.Lack
	add := func(stress check.Stress, unless check.Need, invariants ...string) {
		for _, id := range invariants {
			all = append(all, check.Lack{Invariant: id, Stress: stress, Unless: unless})
		}
	}
	// An owner that is overtaken or dies has charged: only the provider could tell.
	add(check.LeaseOverrun, check.NeedsProviderKey, "effect/at-most-once")
	add(check.OwnerDies, check.NeedsProviderKey, "effect/at-most-once")
	add(check.DownPastLease, check.NeedsProviderKey, "effect/at-most-once", "answer/replay-equal")
	add(check.DownPastLease, check.NeedsNothing, "answer/one-fresh")
	add(check.ProviderUnknown, check.NeedsProviderKey, "effect/at-most-once", "effect/silent-duplicate", "effect/unknown-stays-unknown")
	// An error frees the key, and this one hides a charge.
	add(check.ChargeHidden, check.NeedsNothing, "effect/accounted")
	// The claim ends with its lease, and takes the fingerprint with it.
	add(check.LeaseOverrun, check.NeedsNothing, "reuse/refused", "provider/key-distinct")
	return all
}

func TestCoordinator(t *testing.T) {
	idempotencytest.TestCoordinator(t,
		func(t testing.TB, env idempotencytest.Env) idempotency.Coordinator {
			return coordinator.New(client(t, env), config(env))
		},
		idempotencytest.Options{StoreDown: reservation.FailClosed, Lacks: lacks()})
}

// naive is set in the process in which the naive coordinator is examined.
const naive = "EXAMINE_NAIVE"

func TestNaive(t *testing.T) {
	if os.Getenv(naive) == "" {
		t.Skip("started by TestNaiveIsCaught: it must fail")
	}
	idempotencytest.TestCoordinator(t,
		func(t testing.TB, env idempotencytest.Env) idempotency.Coordinator {
			return coordinator.NewNaive(client(t, env), config(env))
		},
		idempotencytest.Options{StoreDown: reservation.FailClosed, Scenarios: []string{"in-flight", "burst"}})
}

// TestNaiveIsCaught: a harness that lets it pass is worth nothing.
func TestNaiveIsCaught(t *testing.T) {
	test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNaive$")
	test.Env = append(os.Environ(), naive+"=1")
	out, err := test.CombinedOutput()
	if err == nil {
		t.Fatalf("the naive coordinator passed\n%s", out)
	}
	for _, want := range []string{"--- FAIL: TestNaive/effect/at-most-once", "--- FAIL: TestNaive/answer/replay-equal", "WHAT THE CARD SEES", "reproduce: go test"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the failure does not say %q\n%s", want, out)
		}
	}
}
