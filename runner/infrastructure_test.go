package runner_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// meddled does something to the store before each request of an otherwise honest
// coordinator: somebody else's doing, of which the coordinator knows nothing.
type meddled struct {
	idempotency.Coordinator
	meddle func(context.Context, idempotency.Request)
}

func (m meddled) Do(ctx context.Context, r idempotency.Request, a idempotency.Action) (idempotency.Outcome, error) {
	m.meddle(ctx, r)
	return m.Coordinator.Do(ctx, r, a)
}

// meddledEntry is the entry of that name, on a store with which somebody meddles.
func meddledEntry(t *testing.T, name string, meddle func(context.Context, impl.Env, idempotency.Request)) impl.Entry {
	t.Helper()
	e := entries(t, name)[0]
	inner := e.New
	e.New = func(env impl.Env) (idempotency.Coordinator, error) {
		c, err := inner(env)
		return meddled{c, func(ctx context.Context, r idempotency.Request) { meddle(ctx, env, r) }}, err
	}
	return e
}

// own is a client of somebody else's.
func own(t *testing.T, b *backend.Backend) redis.UniversalClient {
	t.Helper()
	c := b.Client("")
	t.Cleanup(func() { c.Close() })
	return c
}

func runOne(t *testing.T, b *backend.Backend, scenario string, e impl.Entry) results.Cell {
	t.Helper()
	s, ok := scenarios.Lookup(scenario)
	if !ok {
		t.Fatal(scenario)
	}
	run, _ := runner.Run(t.Context(), runner.Config{Scenarios: []scenarios.Scenario{s}, Targets: []impl.Entry{e}, Backend: b, Seed: 1})
	if n := run.Summary.DoubleCharges; run.Cells[0].Status != results.Judged && n > 0 {
		t.Errorf("%d double charges are counted in a cell that could not run", n)
	}
	return run.Cells[0]
}

// TestStoreThatRefusesInMidRun: a store that fills up makes wait fail open, and it
// charges twice. That is no verdict on wait.
func TestStoreThatRefusesInMidRun(t *testing.T) {
	b := open(t, backend.RedisServer)
	c := own(t, b)
	e := meddledEntry(t, "wait", func(ctx context.Context, _ impl.Env, _ idempotency.Request) { c.ConfigSet(ctx, "maxmemory", "1") })
	cell := runOne(t, b, "sequential-retry", e)
	if want := "the store did not answer, and nothing in the scenario disturbed it"; cell.Status != results.CouldNotRun || cell.Why != want {
		t.Errorf("%s %q (%s), want could-not-run, %q", cell.Status, cell.Why, cell.Verdict, want)
	}
}

// TestStoreThatRefusesNonsense: a coordinator that puts a value of another kind
// where its records are is judged, whatever the store said to it.
func TestStoreThatRefusesNonsense(t *testing.T) {
	for _, store := range []string{backend.Memory, backend.Embedded, backend.RedisServer} {
		t.Run(store, func(t *testing.T) {
			b := open(t, store)
			e := meddledEntry(t, "wait", func(ctx context.Context, env impl.Env, r idempotency.Request) {
				_ = env.KV.Set(ctx, r.StoredName(), []byte("mine"), 0)
			})
			cell := runOne(t, b, "sequential-retry", e)
			if cell.Status != results.Judged || cell.AsExpected {
				t.Errorf("%s %q, as expected %v: want judged, and not as expected", cell.Status, cell.Why, cell.AsExpected)
			}
		})
	}
}

// TestEmptiedStore: somebody's FLUSHALL takes the claims away.
func TestEmptiedStore(t *testing.T) {
	for _, store := range []string{backend.Embedded, backend.RedisServer} {
		t.Run(store, func(t *testing.T) {
			b := open(t, store)
			c := own(t, b)
			e := meddledEntry(t, "wait", func(ctx context.Context, _ impl.Env, _ idempotency.Request) { c.FlushAll(ctx) })
			cell := runOne(t, b, "sequential-retry", e)
			if cell.Status != results.CouldNotRun || !strings.Contains(cell.Why, "emptied the store") {
				t.Errorf("%s %q (%s), want could-not-run", cell.Status, cell.Why, cell.Verdict)
			}
			noKeys(t, b)
		})
	}
}

// gone runs everything, does something to the store when the first cells have
// ended, and wants the rest to say that it was the store.
func gone(t *testing.T, b *backend.Backend, strike func()) results.Run {
	t.Helper()
	struck := false
	run, _ := runner.Run(t.Context(), runner.Config{Scenarios: scenarios.All(), Targets: entries(t, "cache", "wait", "raise"), Backend: b, Seed: 1, Parallel: 4,
		Progress: func(p runner.Progress) {
			if p.Done >= 5 && !struck {
				struck = true
				strike()
			}
		}})
	for _, c := range run.Cells {
		switch {
		case c.Status == results.Judged && c.AsExpected:
		case c.Status == results.CouldNotRun && strings.Contains(c.Why, "the store"):
		default:
			t.Errorf("%s of %s: %s %q, verdict %s, as expected %v", c.Scenario, c.Target, c.Status, c.Why, c.Verdict, c.AsExpected)
		}
	}
	if last := run.Cells[len(run.Cells)-1]; last.Status != results.CouldNotRun {
		t.Errorf("the last cell: %s %s, want could-not-run", last.Status, last.Verdict)
	}
	return run
}

// TestFrozenStore: a private server that is stopped ends the run; without a watch
// each of its cells would take half a minute.
func TestFrozenStore(t *testing.T) {
	b := open(t, backend.RedisServer)
	p := process(t, b)
	run := gone(t, b, func() { freeze(t, p) })
	if last := run.Cells[len(run.Cells)-1]; last.Why != "the store does not answer" {
		t.Errorf("the last cell: %q", last.Why)
	}
}

// TestKilledStoreOfSomebodys: nobody tells us when somebody's own Redis ends.
func TestKilledStoreOfSomebodys(t *testing.T) {
	server := open(t, backend.RedisServer)
	p := process(t, server)
	b := open(t, "redis://"+server.DialAddr())
	gone(t, b, func() { _ = p.Kill() })
}

func process(t *testing.T, b *backend.Backend) *os.Process {
	t.Helper()
	info, err := own(t, b).Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for line := range strings.Lines(info) {
		_, _ = fmt.Sscanf(line, "process_id:%d", &pid)
	}
	p, err := os.FindProcess(pid)
	if err != nil || pid == 0 {
		t.Fatalf("process %d: %v", pid, err)
	}
	return p
}
