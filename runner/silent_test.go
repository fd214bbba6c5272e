package runner_test

import (
	"context"
	"testing"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/backend"
)

// silent claims as most people write it: SET NX "pending", which nothing tells
// from a result but the moment at which it is written.
type silent struct {
	kv    store.KV
	lease time.Duration
}

func (c silent) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	name := req.StoredName()
	won, err := c.kv.SetNX(ctx, name, []byte("pending"), c.lease)
	if err != nil {
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	if !won {
		v, _, err := c.kv.Get(ctx, name)
		if err != nil || string(v) == "pending" {
			return idempotency.Outcome{}, &idempotency.InProgressError{}
		}
		return idempotency.Outcome{Result: v, Source: idempotency.Replayed, Stored: true}, nil
	}
	out, err := act(context.WithoutCancel(ctx))
	if err != nil {
		_ = c.kv.Delete(ctx, name)
		return idempotency.Outcome{}, err
	}
	err = c.kv.Set(ctx, name, out, 24*time.Hour)
	return idempotency.Outcome{Result: out, Source: idempotency.Executed, Stored: err == nil}, nil
}

// TestClaimThatDoesNotSaySo: its lease can be ended by command, and its claim is
// not taken for a result that was lost.
func TestClaimThatDoesNotSaySo(t *testing.T) {
	e := impl.Entry{Name: "silent", New: func(e impl.Env) (idempotency.Coordinator, error) {
		return silent{e.KV, e.Config.Lease}, nil
	}}
	for _, tc := range []struct{ scenario, invariant, want, why string }{
		{"worker-death", "effect/at-most-once", "violated", "the lease ends by command, and the retry charges again"},
		{"in-flight", "record/retained", "held", "a claim's short expiry is not a result's"},
		{"in-flight", "claim/mortal", "held", "the claim ends with its value"},
		{"lease-real", "record/final-is-final", "held", "to claim after the lease is no overwriting of a result"},
	} {
		s, _ := scenarios.Lookup(tc.scenario)
		run, _ := runner.Run(t.Context(), runner.Config{Scenarios: []scenarios.Scenario{s}, Targets: []impl.Entry{e}, Backend: open(t, backend.Embedded)})
		for _, f := range run.Cells[0].Findings {
			if f.Invariant == tc.invariant && f.Verdict != tc.want {
				t.Errorf("%s: %s is %s, want %s: %s; because %s", tc.scenario, tc.invariant, f.Verdict, tc.want, tc.why, f.Because)
			}
		}
	}
}
