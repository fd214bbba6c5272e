package idempotencyhttp

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/idemrace/idemrace/idempotency"
)

// Classify says what a handler's status means to the coordinator: nil is an answer
// to be kept, and an error is what the action has ended with.
//
//	2xx, 3xx, 4xx       kept: that is the request's answer, and a retry gets it again
//	401, 403, 425, 429  idempotency.ErrNoEffect: refused before anything was done
//	                    (RFC 9110, 8470, 6585), and another time it may not be. A kept
//	                    401 would also lack the WWW-Authenticate that it must have
//	408, 409            an error: it says nothing of what was done, and is no answer
//	                    for good. The coordinator's policy decides
//	502, 504            idempotency.ErrUnknownOutcome: somebody behind was asked, and
//	                    may have done it
//	other 5xx           an error, as for 409
//
// A handler that knows better says so; see NoEffect.
func Classify(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooEarly, http.StatusTooManyRequests:
		return fmt.Errorf("%w: status %d", idempotency.ErrNoEffect, status)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return fmt.Errorf("%w: status %d", idempotency.ErrUnknownOutcome, status)
	case http.StatusRequestTimeout, http.StatusConflict:
		return fmt.Errorf("status %d", status)
	}
	if status >= http.StatusInternalServerError {
		return fmt.Errorf("status %d", status)
	}
	return nil
}

// word is what a handler has said of its answer.
type word int

// From weak to strong: who has once said "unknown" cannot take it back.
const (
	nothing word = iota
	keep
	noEffect
	unknown
)

// said is carried by the context of a handler's request.
type said struct {
	mu   sync.Mutex
	word word
}

type saidKey struct{}

func say(ctx context.Context, w word) {
	s, ok := ctx.Value(saidKey{}).(*said)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.word = max(s.word, w)
}

// NoEffect is for a handler to say that its answer, whatever the status, is that of
// a failure which is known to have had no effect: the answer is not kept, and a
// retry runs. See idempotency.ErrNoEffect for who may say so. Where the request is
// not protected it does nothing.
func NoEffect(r *http.Request) { say(r.Context(), noEffect) }

// Unknown is for a handler to say that the effect may or may not have been made:
// the answer is not kept, and the key stays taken. It goes before what else is said.
func Unknown(r *http.Request) { say(r.Context(), unknown) }

// Keep is for a handler to say that its answer is the request's for good, whatever
// the status.
func Keep(r *http.Request) { say(r.Context(), keep) }

func (s *said) silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.word == nothing
}

// verdict is what the coordinator is told: nil, or the action's error.
func (s *said) verdict(status int, classify func(int) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.word {
	case keep:
		return nil
	case noEffect:
		return fmt.Errorf("%w: status %d", idempotency.ErrNoEffect, status)
	case unknown:
		return fmt.Errorf("%w: status %d", idempotency.ErrUnknownOutcome, status)
	}
	return classify(status)
}
