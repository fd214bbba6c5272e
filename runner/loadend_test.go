package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/store/backend"
)

func loadWait(t *testing.T, ctx context.Context, kind string, cfg runner.LoadConfig) load.Report {
	t.Helper()
	cfg.Entry, _ = impl.Lookup("wait")
	cfg.Backend = open(t, kind)
	r, err := runner.Load(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A plan that was agreed to begin later has its faults later, too: they count from the
// load's start.
func TestFaultsBeginWithThePlan(t *testing.T) {
	t.Parallel()
	p := load.Plan{Seed: 1, Pace: load.Constant(100), For: 400 * time.Millisecond, Begin: time.Now().Add(time.Second)}
	fault := runner.LoadFault{Kind: runner.ProviderErrors, For: 350 * time.Millisecond}
	r := loadWait(t, t.Context(), backend.Memory, loadConfig(p, fault))
	if len(r.Faults) != 1 || r.Faults[0].Began < 0 || r.Verdicts.Answers["declined"] == 0 || r.Trouble != "" {
		t.Errorf("%+v, %v, %q", r.Faults, r.Verdicts.Answers, r.Trouble)
	}
}

// A fault that the load did not live to see is told: nobody may think that it was
// survived.
func TestFaultsThatWereNotMadeAreTold(t *testing.T) {
	t.Parallel()
	p := load.Plan{Seed: 1, Pace: load.Clients(1), Requests: 3}
	fault := runner.LoadFault{Kind: runner.ProviderErrors, At: time.Hour, For: time.Second}
	if r := loadWait(t, t.Context(), backend.Memory, loadConfig(p, fault)); !strings.Contains(r.Trouble, "provider-errors@1h0m0s+1s was not made") {
		t.Errorf("%q", r.Trouble)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := loadWait(t, ctx, backend.Memory, loadConfig(p, fault)); r.Trouble != "" || !r.Interrupted {
		t.Errorf("interrupted, and no more: %q", r.Trouble)
	}
}
