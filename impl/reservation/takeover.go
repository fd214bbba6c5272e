package reservation

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store"
)

// errTakenOver is why the result of an owner that was alone is not stored.
var errTakenOver = errors.New("the claim was taken over, by an attempt that ran nothing")

// errUnresolved is what a claim gets that must neither run nor ask.
var errUnresolved = fmt.Errorf("%w: an earlier attempt may have had its effect, and its provider cannot be asked; a reconciliation has to tell",
	idempotency.ErrUnknownOutcome)

// mine goes on with a claim that is this attempt's now.
func (a *attempt) mine(ctx context.Context, t turn, rec store.Record) (idempotency.Outcome, error) {
	switch {
	case a.resolves:
		result, _ := a.act(ctx) // brings the result, and cannot fail
		return a.complete(context.WithoutCancel(ctx), t, result)
	case a.cfg.Takeover == TakeoverRefuses && uncertain(rec):
		a.unresolved(ctx)
		a.giveBack(context.WithoutCancel(ctx), t, store.Settlement{To: store.Unknown, Failure: errUnresolved.Error()})
		return idempotency.Outcome{}, errUnresolved
	}
	return a.run(ctx, t)
}

// uncertain: a former owner may have charged under this claim. Fence and
// generation begin at 1 and rise together with each failure known to have had no
// effect: where the fence is ahead, some owner went without such a word.
// store.Claimed.Took would say less: a claim that is sent again because its reply
// was lost has taken nothing over.
func uncertain(rec store.Record) bool { return rec.Fence > rec.Generation }

// alone: an overtaken owner made the one effect there is. Whoever took over runs
// nothing, and nobody will: its result is true, though it cannot be written down
// any more.
func (a *attempt) alone(t turn, stands store.Record) bool {
	return a.cfg.Takeover == TakeoverRefuses && t.source == idempotency.Executed && uncertain(stands) &&
		(stands.State == store.Pending || stands.State == store.Unknown)
}

// Resolve writes down the final of a request whose outcome somebody has found out
// elsewhere: a person at the provider's console, a reconciliation, a handler of
// orphans. It runs nothing. From then on attempts get this result.
//
// The Outcome says what stands: Executed means that this call wrote it, Replayed
// that a final was there, which may be another. While an owner holds the claim,
// or the lease of an unknown outcome lasts, it is ErrInProgress, with the time to
// come back after. With the store down it is ErrStoreUnavailable, whatever the
// policy. There is no way to free the key: if nothing was charged, the client
// pays with a new one.
func (c *Coordinator) Resolve(ctx context.Context, req idempotency.Request, result []byte) (idempotency.Outcome, error) {
	if err := req.Validate(); err != nil {
		return idempotency.Outcome{}, err
	}
	a := c.newAttempt(req, func(context.Context) ([]byte, error) { return result, nil })
	a.resolves, a.impatient = true, true
	return a.handle(ctx)
}
