package reservation

import (
	"context"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store"
)

// pack brings a result into the form in which the record keeps it. A result over
// the limit goes to the offloader; without one, or if that fails, the record
// remembers only that it was done: never that it was not.
func (a *attempt) pack(ctx context.Context, result []byte) (store.Form, []byte) {
	if len(result) <= a.cfg.MaxResult {
		return store.Inline, result
	}
	if a.cfg.Offload != nil {
		ctx, cancel := a.clk.WithDeadline(ctx, a.clk.Now().Add(a.cfg.CompleteFor))
		defer cancel()
		ref, err := a.cfg.Offload.Save(ctx, a.req, result)
		if err == nil {
			return store.Reference, ref
		}
		a.storeFailed(ctx, "offload", err)
	}
	a.tooLarge(ctx, len(result))
	return store.TooLarge, nil
}

// load gets an offloaded result back. It runs on the caller's context unless the
// caller is an owner: who only reads may leave.
func (a *attempt) load(ctx context.Context, ref []byte) ([]byte, error) {
	if a.cfg.Offload == nil {
		return nil, idempotency.ErrResultTooLarge // kept by an instance that had an offloader
	}
	result, err := a.cfg.Offload.Load(ctx, a.req, ref)
	if err == nil {
		return result, nil
	}
	if gone := ctx.Err(); gone != nil {
		return nil, gone
	}
	a.storeFailed(ctx, "load", err)
	return nil, &idempotency.StoreUnavailableError{Err: err}
}
