package runner_test

import (
	"testing"
	"time"

	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/store/backend"
)

// outage is a load with the store away from half a second on, for half a second: it goes
// between two requests, for a completion that it cuts off is another story. Every
// key comes again five seconds later, which is long after the outage and the lease.
func outage(t *testing.T, policy reservation.Policy) (r load.Report, refs int64) {
	t.Helper()
	plan := load.Plan{Seed: 1, Pace: load.Constant(40), For: 9 * time.Second, Duplicates: 1, Later: 1, LaterBy: 5 * time.Second}
	stream := plan.Start()
	seen := map[int64]bool{}
	for q, ok := stream.Next(0); ok; q, ok = stream.Next(0) {
		seen[q.Ref] = true
	}
	entry, _ := impl.Lookup("wait")
	r, err := runner.Load(t.Context(), runner.LoadConfig{
		Entry: entry, Backend: open(t, backend.Embedded), Plan: plan, Takes: 5 * time.Millisecond,
		Coordinator: reservation.Config{StoreDown: policy, Lease: 2 * time.Second, Retention: time.Hour},
		Faults:      []runner.LoadFault{{Kind: runner.StoreDownFault, At: 515 * time.Millisecond, For: 485 * time.Millisecond}},
	})
	if err != nil || len(r.Faults) != 1 || r.Faults[0].Error != "" {
		t.Fatal(err, r.Faults)
	}
	return r, int64(len(seen))
}

// Failing closed: who was told that the store is unavailable has charged nothing, and
// after the outage and a lease every key is free, so that each has a success in the end.
func TestAnOutageFailingClosed(t *testing.T) {
	t.Parallel()
	r, refs := outage(t, reservation.FailClosed)
	v := r.Verdicts
	if v.Answers["store-unavailable"] == 0 {
		t.Fatalf("the outage was not felt: %v", v.Answers)
	}
	if len(v.Violated) > 0 || v.Ledger.Charges != v.Ledger.Refs || v.Succeeded != refs || v.Ledger.Refs != refs {
		t.Errorf("%d refs: %+v", refs, v)
	}
}

// Failing open: what ran unprotected is charged again when it comes again, and the
// judge counts exactly what the ledger has.
func TestAnOutageFailingOpen(t *testing.T) {
	t.Parallel()
	r, refs := outage(t, reservation.FailOpen)
	v := r.Verdicts
	if v.Answers["store-unavailable"] > 0 || v.Ledger.Doubles == 0 {
		t.Fatalf("the outage was not felt: %v, %+v", v.Answers, v.Ledger)
	}
	if v.Violated["effect/at-most-once"] != v.Ledger.Doubles || v.Ledger.Charges != v.Ledger.Refs+v.Ledger.Excess || v.Ledger.Refs != refs || v.Succeeded != refs {
		t.Errorf("%d refs: %+v", refs, v)
	}
}
