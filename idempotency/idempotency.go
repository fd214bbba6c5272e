// Package idempotency is the contract: what it means to handle a request once.
//
// Start at [Coordinator]; call it through [Do]. A request is identified by
// tenant, operation and key, and described by a [Fingerprint] of the fields that
// define it. Whoever implements Coordinator promises: the effect happens once,
// and the answers agree.
//
// The package knows no store, no clock and no transport. It refuses to repair
// what it is given: a key or payload that is not valid is an error, never
// trimmed, folded, cut short or run unprotected.
package idempotency

import (
	"context"
	"encoding/json"
	"fmt"
)

// Request identifies and describes one keyed operation.
type Request struct {
	Tenant      string // whose key it is, from authentication and never from the payload; "" where there is one tenant only
	Operation   string // the key's scope: a key is unique per operation, not per system
	Key         string // the client's Idempotency-Key, unchanged
	Fingerprint Fingerprint
}

// Action is the effect to make at most once. Its context carries the key to
// hand to the provider ([ProviderKey]) and the deadline by which it must end; it
// does not end when the client hangs up. An action that knows more than
// "failed" says so by wrapping [ErrNoEffect] or [ErrUnknownOutcome].
type Action func(ctx context.Context) ([]byte, error)

// Coordinator handles requests once. Do returns the result of the one
// execution, whoever made it, or an error that one of the package's sentinels
// matches, or the action's own error when this call executed it.
type Coordinator interface {
	Do(ctx context.Context, req Request, act Action) (Outcome, error)
}

// Source says where an outcome came from.
type Source string

// The sources of an outcome.
const (
	Executed    Source = "executed"    // this call ran the action
	Replayed    Source = "replayed"    // the result was there already
	Waited      Source = "waited"      // another call ran it while this one waited
	Superseded  Source = "superseded"  // this call ran it too late; the stored result is returned, its own effect is an orphan
	Unprotected Source = "unprotected" // the store was down and the policy is to run anyway
)

// Outcome is a successful answer.
type Outcome struct {
	Result []byte
	Source Source
	// Stored reports whether the result is safely kept: if not, a retry may run
	// the action again once the lease is over.
	Stored bool
}

// Orphan is an effect that no answer names: its execution was overtaken, and
// another one's result stands, or is still to come. It must be voided or looked
// at by a person; who voids compares the effects first, since a provider that
// honours keys may have given both executions one effect (byte-equal results are
// not reported).
type Orphan struct {
	Request Request
	Result  []byte // what the overtaken execution returned
	Stands  []byte // the stored final, nil if there is none yet
}

// Do validates the request and runs act through c; an invalid one never reaches
// c. The result travels as JSON, for the call that executed act too: it gets what
// a replay would get, without the fields that JSON drops.
//
// A result that does not marshal has had its effect, so it is ErrUnknownOutcome
// and the key stays taken. One that does not unmarshal into T, as when T has
// changed since, is ErrResultUnreadable, and the Outcome still holds it.
func Do[T any](ctx context.Context, c Coordinator, req Request, act func(ctx context.Context) (T, error)) (T, Outcome, error) {
	var zero T
	if err := req.Validate(); err != nil {
		return zero, Outcome{}, err
	}
	out, err := c.Do(ctx, req, marshalled(act))
	if err != nil {
		return zero, out, err
	}
	var v T
	if err := json.Unmarshal(out.Result, &v); err != nil {
		return zero, out, fmt.Errorf("%w (%s): %w", ErrResultUnreadable, out.Source, err)
	}
	return v, out, nil
}

// marshalled is act with its result as JSON.
func marshalled[T any](act func(ctx context.Context) (T, error)) Action {
	return func(ctx context.Context) ([]byte, error) {
		v, err := act(ctx)
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(v)
		if err != nil {
			// The effect has been made; that its answer cannot be written down
			// must not free the key.
			return nil, fmt.Errorf("%w: the result does not marshal: %v", ErrUnknownOutcome, err)
		}
		return b, nil
	}
}

type providerKey struct{}

// WithProviderKey returns a context that carries the key to hand to the
// provider. Coordinators call it; actions read it with ProviderKey.
func WithProviderKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, providerKey{}, key)
}

// ProviderKey returns the key that the action should hand to its provider as
// its own Idempotency-Key: the second layer, which protects the charge when the
// first cannot. It is "" if the coordinator gave none.
func ProviderKey(ctx context.Context) string {
	k, _ := ctx.Value(providerKey{}).(string)
	return k
}
