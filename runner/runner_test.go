package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
	"github.com/idemrace/idemrace/store/redisstore"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("SHOP_MODE"); mode != "" {
		badShop(mode)
		return
	}
	if os.Getenv("TRIVIAL_SERVER") != "" {
		trivialServer()
		return
	}
	redisstore.Quiet()
	goleak.VerifyTestMain(m)
}

// open opens a store for a test, or skips it with one line.
func open(t *testing.T, name string) *backend.Backend {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); name == backend.RedisServer && err != nil {
		t.Skip("needs redis-server: this run is on a real one")
	}
	b, err := backend.Open(t.Context(), backend.Spec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func entries(t *testing.T, names ...string) []impl.Entry {
	t.Helper()
	var list []impl.Entry
	for _, n := range names {
		e, ok := impl.Lookup(n)
		if !ok {
			t.Fatalf("no coordinator %q", n)
		}
		list = append(list, e)
	}
	return list
}

// told is what a cell's row in the table says: answers by client, charges in
// order of commit.
func told(c results.Cell) string {
	if c.Status != results.Judged {
		return c.Status + ": " + c.Why
	}
	var answers, charges []string
	for _, a := range c.Attempts {
		if a.Charge != "" {
			answers = append(answers, a.Charge)
		} else {
			answers = append(answers, a.Answer)
		}
	}
	for _, ch := range c.Charges {
		charges = append(charges, ch.ID)
	}
	return squeeze(answers) + " | " + squeeze(charges)
}

// squeeze counts the words of a burst: who of twenty wins is chance.
func squeeze(words []string) string {
	counts := map[string]int{}
	for _, w := range words {
		counts[w]++
	}
	if len(words) < 20 {
		return strings.Join(words, ", ")
	}
	var out []string
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%d×%s", counts[w], w))
	}
	return strings.Join(out, ", ")
}

// facts are the article's tables and the races behind them: answers in the
// order of sending, then the ledger. They are what the project exists to show,
// so they are written out and not computed.
var facts = map[string]map[string]string{
	"in-flight":         {"cache": "ch_1, ch_1 | ch_1, ch_2", "wait": "ch_1, ch_1 | ch_1", "raise": "ch_1, in-progress | ch_1", "fenced": "ch_1, ch_1 | ch_1"},
	"sequential-retry":  all("ch_1, ch_1 | ch_1"),
	"key-reuse":         all("ch_1, ch_1, key-reused | ch_1"),
	"redis-down":        all("ch_1 | ch_1"),
	"redis-down-closed": all("store-unavailable, ch_1 | ch_1"),
	"scope":             all("ch_1, ch_2, ch_1, ch_2 | ch_1, ch_2"),
	"retention":         all("ch_1, ch_1, ch_2 | ch_1, ch_2"),
	"key-length":        all("ch_1, ch_1, invalid-key, invalid-key, invalid-key, ch_2, ch_3 | ch_1, ch_2, ch_3"),
	"oversize-result":   but("ch_1, result-too-large | ch_1", "cache", "ch_1, ch_1 | ch_1"),
	"burst":             {"wait": "20×ch_1 | ch_1", "raise": "1×ch_1, 19×in-progress | ch_1", "fenced": "20×ch_1 | ch_1"},

	// A time-out says nothing: fenced does not free the key, and with a provider
	// that ignores keys it has nobody to ask.
	"provider-error": but("error, ch_1 | ch_1", "fenced", "unknown, unknown | "),
	// Nor does it charge again here. Its slow owner keeps the one success.
	"worker-death": {"cache": "unknown, ch_2, ch_2 | ch_1, ch_2", "wait": "unknown, ch_2, ch_2 | ch_1, ch_2",
		"raise": "unknown, in-progress, ch_2 | ch_1, ch_2", "fenced": "unknown, unknown, unknown | ch_1"},
	"lease-overrun": {"cache": "ch_1, ch_1 | ch_1, ch_2", "wait": "in-progress, ch_2 | ch_1, ch_2",
		"raise": "in-progress, ch_2 | ch_1, ch_2", "fenced": "ch_1, unknown | ch_1"},
	"lease-overrun-late":   but("ch_1, ch_1 | ch_1, ch_2", "fenced", "ch_1, unknown | ch_1"),
	"late-failure":         {"wait": "error, ch_1, ch_1 | ch_1", "raise": "error, ch_1, in-progress | ch_1", "fenced": "unknown, unknown, unknown | "},
	"late-decline":         {"cache": "declined, ch_1 | ch_1", "wait": "ch_1, ch_1 | ch_1", "raise": "ch_1, ch_1 | ch_1", "fenced": "unknown, unknown | "},
	"unknown-outcome-late": but("unknown, ch_2 | ch_1, ch_2", "fenced", "unknown, unknown | ch_1"),

	// A provider that honours keys: whoever takes over asks it with the first key.
	// B's call meets A's ("it is running"), so B's outcome is unknown. A's success
	// comes when the claim is B's, and nothing stands yet. C asks once more and is
	// given the first call's charge. Cache hands no key on, so its calls are two.
	"lease-overrun-keys": but("in-progress, unknown, ch_1 | ch_1", "cache", "ch_1, ch_1, ch_1 | ch_1, ch_2"),
	// A's worker is dead. Wait and fenced let B wait for the lease's end and ask;
	// raise sends B away, and C asks.
	"worker-death-keys": {"cache": "unknown, ch_2, ch_2 | ch_1, ch_2", "wait": "unknown, ch_1, ch_1 | ch_1",
		"raise": "unknown, in-progress, ch_1 | ch_1", "fenced": "unknown, ch_1, ch_1 | ch_1"},
	// The answer that was lost is given again.
	"unknown-outcome-keys": but("unknown, ch_1 | ch_1", "cache", "unknown, ch_2 | ch_1, ch_2"),
}

func all(s string) map[string]string {
	return map[string]string{"cache": s, "wait": s, "raise": s, "fenced": s}
}

// but is all, with one exception.
func but(s, name, other string) map[string]string {
	facts := all(s)
	facts[name] = other
	return facts
}

// TestFacts plays every scenario on the article's three coordinators and on
// fenced, on each store: answers, charges and verdicts are as they must be.
func TestFacts(t *testing.T) {
	for _, store := range []string{backend.Memory, backend.Embedded, backend.RedisServer} {
		t.Run(store, func(t *testing.T) {
			run, _ := runner.Run(t.Context(), runner.Config{
				Scenarios: scenarios.All(), Targets: entries(t, "cache", "wait", "raise", "fenced"), Backend: open(t, store), Seed: 1,
			})
			for _, c := range run.Cells {
				if c.Status == results.NotApplicable && store == backend.Memory {
					continue
				}
				want, ok := facts[c.Scenario][c.Target]
				if got := told(c); ok && got != want {
					t.Errorf("%s on %s: %s, want %s", c.Scenario, c.Target, got, want)
				}
				if !c.AsExpected {
					t.Errorf("%s on %s: not as expected: %s %s %v\n%s", c.Scenario, c.Target, c.Status, c.Why, c.Controls, unexpected(c))
				}
			}
			if n := run.Summary; store != backend.Memory && (n.AsExpected != n.Cells || n.Inconclusive+n.NotApplicable+n.CouldNotRun > 0) {
				t.Errorf("summary %+v: every cell must be judged and as expected", n)
			}
		})
	}
}

func unexpected(c results.Cell) string {
	var b strings.Builder
	for _, f := range c.Findings {
		if !results.AsExpected(f) || f.Verdict == string(check.Inconclusive) {
			fmt.Fprintf(&b, "  %s: %s, expected %s: %s\n", f.Invariant, f.Verdict, f.Expected, f.Because)
		}
	}
	return b.String()
}

// TestCommandBudget: a fresh request is two commands and its replay one, counted
// at the proxy. Renewals come on top, and a short action has none.
func TestCommandBudget(t *testing.T) {
	s, _ := scenarios.Lookup("sequential-retry")
	run, _ := runner.Run(t.Context(), runner.Config{
		Scenarios: []scenarios.Scenario{s}, Targets: entries(t, "cache", "wait", "raise", "fenced"), Backend: open(t, backend.Embedded)})
	for _, c := range run.Cells {
		if c.StoreCommands != 3 {
			t.Errorf("%s: %d commands, want 3", c.Target, c.StoreCommands)
		}
	}
}

// TestBurstOfCacheChargesTwenty: each of twenty looked before anybody had
// written.
func TestBurstOfCacheChargesTwenty(t *testing.T) {
	s, _ := scenarios.Lookup("burst")
	run, _ := runner.Run(t.Context(), runner.Config{
		Scenarios: []scenarios.Scenario{s}, Targets: entries(t, "cache"), Backend: open(t, backend.Embedded)})
	if got := len(run.Cells[0].Charges); got != 20 {
		t.Errorf("%d charges, want 20", got)
	}
}

// hanging never answers a duplicate, and its client has no end of patience.
type hanging struct{ idempotency.Coordinator }

func (h hanging) Do(ctx context.Context, _ idempotency.Request, _ idempotency.Action) (idempotency.Outcome, error) {
	<-ctx.Done()
	return idempotency.Outcome{}, ctx.Err()
}

func hangingEntry() impl.Entry {
	return impl.Entry{Name: "hanging", Doc: "never answers",
		New: func(impl.Env) (idempotency.Coordinator, error) { return hanging{}, nil }}
}

// TestHangingCellIsInconclusive: what does not finish in time is not clean.
func TestHangingCellIsInconclusive(t *testing.T) {
	s, _ := scenarios.Lookup("sequential-retry")
	run, _ := runner.Run(t.Context(), runner.Config{
		Scenarios: []scenarios.Scenario{s}, Targets: []impl.Entry{hangingEntry()},
		Backend: open(t, backend.Memory), Timeout: 50 * time.Millisecond})
	c := run.Cells[0]
	if c.Status != results.Judged || c.Verdict != "inconclusive" || c.AsExpected {
		t.Errorf("status %s, verdict %s, as expected %v; want judged, inconclusive, false", c.Status, c.Verdict, c.AsExpected)
	}
	if run.Summary.Inconclusive != 1 || run.Summary.Unexpected != 0 {
		t.Errorf("summary %+v: want one inconclusive, none unexpected", run.Summary)
	}
}

// TestInterrupt: cells that have ended are kept, the others say why they are
// not, and no key is left in the store.
func TestInterrupt(t *testing.T) {
	b := open(t, backend.Embedded)
	ctx, interrupt := context.WithCancel(t.Context())
	quick, _ := scenarios.Lookup("sequential-retry")
	run, _ := runner.Run(ctx, runner.Config{
		Scenarios: []scenarios.Scenario{quick, quick}, Targets: append(entries(t, "wait"), hangingEntry()), Backend: b, Parallel: 1,
		Progress: func(p runner.Progress) {
			if p.Done == 1 {
				interrupt()
			}
		},
	})
	if !run.Interrupted || run.Cells[0].Verdict != "held" {
		t.Errorf("interrupted %v, first cell %s: want true, held", run.Interrupted, run.Cells[0].Verdict)
	}
	if c := run.Cells[1]; c.Status != results.CouldNotRun || c.Why != "interrupted" {
		t.Errorf("second cell: %s %q, want could-not-run, interrupted", c.Status, c.Why)
	}
	noKeys(t, b)
}

func noKeys(t *testing.T, b *backend.Backend) {
	t.Helper()
	c := b.Client("")
	defer c.Close()
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) > 0 {
		t.Errorf("keys left: %v %v", keys, err)
	}
}

// TestNoKeyIsLeft after a run, and none of anybody else's is touched.
func TestNoKeyIsLeft(t *testing.T) {
	b := open(t, backend.RedisServer)
	c := b.Client("")
	defer c.Close()
	if err := c.Set(t.Context(), "somebody-else", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	runner.Run(t.Context(), runner.Config{Scenarios: scenarios.All(), Targets: entries(t, "cache", "wait", "raise"), Backend: b})
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 1 {
		t.Errorf("keys %v %v: want somebody-else only", keys, err)
	}
}

// TestLostTeeth: an entry that lacks what it does keep is a failure of the
// harness or of the entry, and never passes.
func TestLostTeeth(t *testing.T) {
	e := entries(t, "wait")[0]
	e.Lacks = append(e.Lacks, check.Lack{Invariant: "effect/at-most-once", Stress: check.Overlap})
	s, _ := scenarios.Lookup("burst")
	run, _ := runner.Run(t.Context(), runner.Config{Scenarios: []scenarios.Scenario{s}, Targets: []impl.Entry{e}, Backend: open(t, backend.Memory)})
	if c := run.Cells[0]; c.AsExpected || c.Expected != "violated" || run.Summary.Unexpected != 1 {
		t.Errorf("expected %s, as expected %v, summary %+v: want violated, false, one unexpected", c.Expected, c.AsExpected, run.Summary)
	}
}

// TestConstructorFails: a coordinator that cannot be made could not run.
func TestConstructorFails(t *testing.T) {
	e := impl.Entry{Name: "unmade", New: func(impl.Env) (idempotency.Coordinator, error) { return nil, errors.New("no such luck") }}
	s, _ := scenarios.Lookup("burst")
	run, _ := runner.Run(t.Context(), runner.Config{Scenarios: []scenarios.Scenario{s}, Targets: []impl.Entry{e}, Backend: open(t, backend.Embedded)})
	if c := run.Cells[0]; c.Status != results.CouldNotRun || !strings.Contains(c.Why, "no such luck") {
		t.Errorf("%s %q", c.Status, c.Why)
	}
}
