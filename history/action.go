package history

import (
	"context"
	"errors"

	"github.com/idemrace/idemrace/idempotency"
)

// Classes of an action's end, as Event.Class spells them.
const (
	ClassOK       = "ok"
	ClassNoEffect = "no-effect" // failed, known to have had no effect
	ClassUnknown  = "unknown"   // may or may not have had its effect
	ClassError    = "error"     // failed, and says neither
)

// Action returns act with its executions recorded as worker's, for the logical
// operation ref.
func Action(rec *Recorder, worker, ref string, act idempotency.Action) idempotency.Action {
	return func(ctx context.Context) ([]byte, error) {
		e := Event{Kind: Run, Attempt: AttemptOf(ctx), Worker: worker, Ref: ref}
		e.ProviderKey = idempotency.ProviderKey(ctx)
		rec.Record(e)
		result, err := act(ctx)
		e.Kind, e.Class = Ran, classOf(err)
		if err != nil {
			e.Err = err.Error()
		}
		rec.Record(e)
		return result, err
	}
}

func classOf(err error) string {
	switch {
	case err == nil:
		return ClassOK
	case errors.Is(err, idempotency.ErrNoEffect):
		return ClassNoEffect
	case errors.Is(err, idempotency.ErrUnknownOutcome):
		return ClassUnknown
	}
	return ClassError
}
