package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

type coordinatorFunc func(context.Context, idempotency.Request, idempotency.Action) (idempotency.Outcome, error)

func (f coordinatorFunc) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	return f(ctx, req, act)
}

func playOne(t *testing.T, scenario string, timeout time.Duration, do coordinatorFunc) results.Cell {
	t.Helper()
	s, _ := scenarios.Lookup(scenario)
	e := impl.Entry{Name: "unruly", New: func(impl.Env) (idempotency.Coordinator, error) { return do, nil }}
	run, _ := runner.Run(t.Context(), runner.Config{Scenarios: []scenarios.Scenario{s}, Targets: []impl.Entry{e},
		Backend: open(t, backend.Memory), Timeout: timeout})
	return run.Cells[0]
}

// TestAPanicIsAnAnswer: the run goes on, and the report says so.
func TestAPanicIsAnAnswer(t *testing.T) {
	c := playOne(t, "sequential-retry", 0, func(context.Context, idempotency.Request, idempotency.Action) (idempotency.Outcome, error) {
		panic("out of paper")
	})
	if a := c.Attempts[0]; a.Answer != "error" || !strings.Contains(a.Detail, "out of paper") || c.AsExpected {
		t.Errorf("answer %q, detail %q, as expected %v", a.Answer, a.Detail, c.AsExpected)
	}
}

// TestADeafCoordinatorDoesNotHangTheRun: it ignores its context for ever, as far
// as the run can know.
func TestADeafCoordinatorDoesNotHangTheRun(t *testing.T) {
	let := make(chan struct{})
	t.Cleanup(func() { close(let) })
	c := playOne(t, "sequential-retry", 50*time.Millisecond, func(context.Context, idempotency.Request, idempotency.Action) (idempotency.Outcome, error) {
		<-let
		return idempotency.Outcome{}, context.Canceled
	})
	if c.AsExpected || c.Verdict != string(check.Inconclusive) {
		t.Errorf("status %s, verdict %s, as expected %v", c.Status, c.Verdict, c.AsExpected)
	}
}

// TestNobodyIsBlamedForWhatNobodyCanKeep: a sound coordinator that says nothing
// of what it lacks is clean where the worker dies, and is caught where one sends
// the retry twice.
func TestNobodyIsBlamedForWhatNobodyCanKeep(t *testing.T) {
	e := entries(t, "wait")[0]
	e.Lacks = nil
	s, _ := scenarios.Lookup("worker-death")
	run, _ := runner.Run(t.Context(), runner.Config{Scenarios: []scenarios.Scenario{s}, Targets: []impl.Entry{e}, Backend: open(t, backend.Memory)})
	if c := run.Cells[0]; !c.AsExpected || len(c.Charges) != 2 {
		t.Errorf("as expected %v, %d charges", c.AsExpected, len(c.Charges))
	}
}
