// Package errorsarecached keeps a failure as if it were a result.
//
// What is wrong: whatever the action ends with is stored until retention ends. The
// bank's time-out of half a second becomes a payment that cannot be made for a day:
// each retry is told of the old failure, and none tries again.
//
// Seen in node-idempotency, pull request 36; gofiber.
//
// Right: only results are final. A failure frees the key; an unknown outcome keeps
// it until the lease ends, as here.
package errorsarecached

import (
	"context"
	"errors"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	return plain.New(kv, clk, cfg, plain.Parts{Fail: keep, Answer: answer})
}

func keep(ctx context.Context, a *plain.Attempt, cause error) error {
	if errors.Is(cause, idempotency.ErrUnknownOutcome) {
		return a.Fail(ctx, cause)
	}
	v := a.Done(nil)
	v.Failure = cause.Error()
	_, _ = a.Settle(ctx, v, a.Config.Retention) // if it fails, the claim ends with its lease
	return cause
}

func answer(a *plain.Attempt, v plain.Value, source idempotency.Source) (idempotency.Outcome, error) {
	out, err := a.Answer(v, source)
	if err == nil && v.Failure != "" {
		return idempotency.Outcome{}, &idempotency.OwnerFailedError{Failure: v.Failure}
	}
	return out, err
}
