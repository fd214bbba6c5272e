package runner_test

import (
	"slices"
	"testing"
	"time"

	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/store/backend"
)

// A budget begins no cell later, names what it left out, and plays first what finds
// most in a second.
func TestBudget(t *testing.T) {
	b := open(t, backend.Memory)
	cfg := runner.Config{Scenarios: picked(t, "keyless", "in-flight", "burst", "sequential-retry"), Targets: entries(t, "cache"), Backend: b, Parallel: 1}
	var order []string
	cfg.Progress = func(p runner.Progress) { order = append(order, p.Cell.Scenario) }
	cfg.Budget = time.Hour
	if run, _ := runner.Run(t.Context(), cfg); len(run.LeftOut) > 0 || len(run.Cells) != 4 {
		t.Errorf("an hour leaves out %v", run.LeftOut)
	}
	if slices.Index(order, "burst") > slices.Index(order, "keyless") {
		t.Errorf("burst shows more and takes no longer, and came after keyless: %v", order)
	}
	cfg.Budget = time.Nanosecond
	run, _ := runner.Run(t.Context(), cfg)
	if len(run.Cells) != 0 || len(run.LeftOut) != 4 || !slices.Contains(run.LeftOut, "burst on cache") || run.Summary != (results.Summary{}) {
		t.Errorf("no time at all: %d cells, left out %v, %+v", len(run.Cells), run.LeftOut, run.Summary)
	}
}
