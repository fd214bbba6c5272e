package reservation

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store"
)

// execute calls the action with its provider key, on a context that ends when
// its time is up.
func (a *attempt) execute(ctx context.Context, t turn) ([]byte, error) {
	bounded, end := a.bound(ctx, t)
	defer end()
	result, err := a.act(idempotency.WithProviderKey(bounded, a.req.ProviderKey(t.generation)))
	if err != nil && bounded.Err() != nil {
		return nil, a.interrupted(ctx, context.Cause(bounded), err)
	}
	return result, err
}

// bound gives the action its time: what the lease leaves after completing, or,
// where the lease is renewed, MaxRun or until the lease is lost. A short action
// sends no renewal: the first comes after a third of the lease.
func (a *attempt) bound(ctx context.Context, t turn) (bounded context.Context, end func()) {
	if !a.renews(t) {
		return a.clk.WithDeadline(ctx, t.leaseEnd.Add(-a.cfg.CompleteFor))
	}
	kept, stop := a.store.Keep(ctx, store.Renewal{Name: a.claim.Name, Token: a.claim.Token, Lease: a.cfg.Lease, MaxRun: a.cfg.MaxRun})
	bounded, cancel := a.clk.WithDeadline(kept, a.clk.Now().Add(a.cfg.MaxRun))
	return bounded, func() {
		cancel()
		stop()
	}
}

// renews: an unprotected run has no lease to renew.
func (a *attempt) renews(t turn) bool {
	return a.cfg.MaxRun > 0 && t.source == idempotency.Executed
}

// interrupted is the error of an action whose context ended under it: whatever
// was under way then goes on at the provider, so nobody knows. Only an action
// that knows more, that nothing was done, is believed.
func (a *attempt) interrupted(ctx context.Context, cause, err error) error {
	a.cutOff(ctx, cause)
	if errors.Is(err, idempotency.ErrNoEffect) {
		return err
	}
	return fmt.Errorf("%w: %w: %w", idempotency.ErrUnknownOutcome, cause, err)
}
