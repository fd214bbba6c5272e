package idempotencyhttp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/idemrace/idemrace/idempotency"
)

// base is where the types of problems are documented: here.
const base = "https://pkg.go.dev/github.com/idemrace/idemrace/idempotency/idempotencyhttp#"

// The types of problems (RFC 9457), by which a client can tell answers of one
// status apart. They never change between releases.
const (
	// TypeKeyMissing: the operation needs an idempotency key. Status 400.
	TypeKeyMissing = base + "TypeKeyMissing"
	// TypeKeyInvalid: the key cannot be one, or there is more than one. Nothing has
	// been done. Status 400.
	TypeKeyInvalid = base + "TypeKeyInvalid"
	// TypePayloadInvalid: what defines the request cannot be read from its body.
	// Nothing has been done. Status 400, or 408 if the body did not come in time.
	TypePayloadInvalid = base + "TypePayloadInvalid"
	// TypePayloadTooLarge: the body is over the limit. Nothing has been done. Status 413.
	TypePayloadTooLarge = base + "TypePayloadTooLarge"
	// TypeForbidden: it cannot be said whose request it is, or the answer may not be
	// shown to who asks now. Status 403.
	TypeForbidden = base + "TypeForbidden"
	// TypeInProgress: a request with this key runs; try again with the same key.
	// Status 409 with Retry-After, which is the longest that it can take.
	TypeInProgress = base + "TypeInProgress"
	// TypeUnknownOutcome: a request with this key was executed, and nobody knows
	// whether with effect. Another key may be another effect. Status 409.
	TypeUnknownOutcome = base + "TypeUnknownOutcome"
	// TypeKeyReused: the key was used with another payload. Nothing has been done.
	// Status 422.
	TypeKeyReused = base + "TypeKeyReused"
	// TypeOwnerFailed: the request with this key that this one waited for has failed;
	// try again with the same key. It is no conflict, and no fault of this request,
	// which nobody has executed: status 503 with Retry-After.
	TypeOwnerFailed = base + "TypeOwnerFailed"
	// TypeStoreUnavailable: keys cannot be looked up at present. Nothing has been done;
	// try again with the same key. Status 503 with Retry-After.
	TypeStoreUnavailable = base + "TypeStoreUnavailable"
	// TypeGaveUp: the request's time was up before it was answered; try again with the
	// same key. Status 503 with Retry-After.
	TypeGaveUp = base + "TypeGaveUp"
	// TypeAnswerLost: the request was executed once, and what it was answered cannot be
	// given again: it was not kept, or cannot be read. Another key would be another
	// effect. Status 500.
	TypeAnswerLost = base + "TypeAnswerLost"
	// TypeFailed: the coordinator has failed in a way that it has no word for. Status 500.
	TypeFailed = base + "TypeFailed"
)

// soon is a Retry-After for what may be over in a moment: the least that the field
// can say.
const soon = time.Second

// problem is an answer of the middleware's own.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	retry time.Duration // 0: no Retry-After
}

// forbidden is a refusal by Scope or Authorize.
type forbidden struct{ err error }

func (f *forbidden) Error() string { return f.err.Error() }
func (f *forbidden) Unwrap() error { return f.err }

// badPayload is a refusal by Fingerprint.
type badPayload struct{ err error }

func (b *badPayload) Error() string { return b.err.Error() }
func (b *badPayload) Unwrap() error { return b.err }

// refuse answers with a problem.
func (m Middleware) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	m.Logger.Log(r.Context(), p.level(), "idempotency: "+p.Title, "operation", m.Operation(r), "status", p.Status, "error", err)
	p.describe(w.Header())
	w.WriteHeader(p.Status)
	_, _ = w.Write(p.body())
}

// describe sets what goes with the body. What the header says of another body goes.
func (p problem) describe(h http.Header) {
	for _, name := range []string{"Content-Encoding", "Content-Length", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Language", "en")
	h.Set("Cache-Control", "no-store")
	if p.retry > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((p.retry+time.Second-1)/time.Second), 10))
	}
}

func (p problem) body() []byte {
	body, _ := json.Marshal(p) // strings and a number always marshal
	return append(body, '\n')
}

// level: what a client does is its own affair.
func (p problem) level() slog.Level {
	switch {
	case p.Type == TypeFailed || p.Type == TypeAnswerLost || p.Type == TypeUnknownOutcome:
		return slog.LevelError
	case p.Type == TypeStoreUnavailable || p.Type == TypeOwnerFailed:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// problemOf is what a client is told of an error: never a fingerprint, a key, or
// another's words.
func problemOf(err error) problem {
	if p, ok := refusal(err); ok {
		return p
	}
	for _, k := range known() {
		if errors.Is(err, k.is) {
			return k.problem
		}
	}
	return problem{Type: TypeFailed, Title: "The request could not be handled", Status: http.StatusInternalServerError,
		Detail: "Whether it had an effect is not known. Send it again with the same key."}
}

// refusal is a problem that has words or numbers of its error's.
func refusal(err error) (problem, bool) {
	var badKey *idempotency.InvalidKeyError
	var busy *idempotency.InProgressError
	var payload *badPayload
	var forbid *forbidden
	var missing *noKey
	switch {
	case errors.As(err, &missing):
		return problem{Type: TypeKeyMissing, Title: "Idempotency-Key is missing", Status: http.StatusBadRequest,
			Detail: "This operation requires the header field " + missing.name + ": a new key for each request, and the same one when it is sent again."}, true
	case errors.As(err, &forbid):
		return problem{Type: TypeForbidden, Title: "Not allowed", Status: http.StatusForbidden}, true
	case errors.As(err, &payload):
		p := problem{Type: TypePayloadInvalid, Title: "The payload cannot be read", Status: http.StatusBadRequest}
		if errors.Is(err, idempotency.ErrInvalidFingerprint) {
			p.Detail = strings.TrimPrefix(payload.Error(), idempotency.ErrInvalidFingerprint.Error()+": ") // its own word for it
		}
		return p, true
	case errors.As(err, &badKey):
		return problem{Type: TypeKeyInvalid, Title: "Idempotency-Key is invalid", Status: http.StatusBadRequest, Detail: "The key is refused: " + badKey.Reason + "."}, true
	case errors.Is(err, idempotency.ErrInProgress):
		p := problem{Type: TypeInProgress, Title: "A request is outstanding for this Idempotency-Key", Status: http.StatusConflict,
			Detail: "A request with the same key for the same operation is being processed. Send it again later, with the same key.", retry: soon}
		if errors.As(err, &busy) {
			p.retry = max(p.retry, busy.RetryAfter)
		}
		return p, true
	}
	return problem{}, false
}

// known are the other errors that have a problem of their own. The first match
// counts: what a coordinator says goes before what its store said.
func known() []struct {
	is error
	problem
} {
	return []struct {
		is error
		problem
	}{
		{errBodyTooLarge, problem{TypePayloadTooLarge, "The payload is too large", http.StatusRequestEntityTooLarge, "", 0}},
		{errBodySlow, problem{TypePayloadInvalid, "The payload did not come in time", http.StatusRequestTimeout, "", 0}},
		{errBodyBroken, problem{TypePayloadInvalid, "The payload did not come whole", http.StatusBadRequest, "", 0}},
		{idempotency.ErrInvalidKey, problem{TypeKeyInvalid, "Idempotency-Key is invalid", http.StatusBadRequest, "", 0}},
		{idempotency.ErrInvalidFingerprint, problem{TypePayloadInvalid, "The payload cannot be read", http.StatusBadRequest, "", 0}},
		{idempotency.ErrKeyReused, problem{TypeKeyReused, "Idempotency-Key is already used", http.StatusUnprocessableEntity,
			"The key was used for a request with another payload. A new request needs a new key.", 0}},
		{idempotency.ErrOwnerFailed, problem{TypeOwnerFailed, "The first request with this Idempotency-Key has failed", http.StatusServiceUnavailable,
			"This request was not executed. Send it again, with the same key.", soon}},
		{idempotency.ErrResultTooLarge, lost("The answer was too large to be kept.")},
		{idempotency.ErrResultUnreadable, lost("The answer cannot be read any more.")},
		{idempotency.ErrStoreUnavailable, problem{TypeStoreUnavailable, "Idempotency keys cannot be looked up", http.StatusServiceUnavailable,
			"This request was not executed. Send it again, with the same key.", soon}},
		{idempotency.ErrUnknownOutcome, problem{TypeUnknownOutcome, "The outcome is not known", http.StatusConflict,
			"A request with this key was executed, and may or may not have had its effect. Do not send it with another key.", 0}},
		{idempotency.ErrNoEffect, problem{TypeOwnerFailed, "The request with this Idempotency-Key has failed", http.StatusServiceUnavailable,
			"It had no effect. Send it again, with the same key.", soon}},
		{context.Canceled, gaveUp()},
		{context.DeadlineExceeded, gaveUp()},
	}
}

func lost(detail string) problem {
	return problem{TypeAnswerLost, "Done, but the answer cannot be given again", http.StatusInternalServerError,
		detail + " The request was executed once. Do not send it with another key.", 0}
}

func gaveUp() problem {
	return problem{TypeGaveUp, "The request's time was up", http.StatusServiceUnavailable, "Send it again, with the same key.", soon}
}
