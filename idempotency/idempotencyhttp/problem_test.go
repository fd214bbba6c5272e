package idempotencyhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotency/idempotencyhttp"
)

var errSecret = errors.New("postgres://user:secret@db")

// Every type of problem, whole. The stored fingerprint, another's words and an
// error's own text must be in none of them.
func TestProblems(t *testing.T) {
	refused := func(change func(*idempotencyhttp.Middleware)) idempotencyhttp.Middleware {
		m := on(coordinator(runs))
		change(&m)
		return m
	}
	cases := []struct {
		file string
		m    idempotencyhttp.Middleware
		r    *http.Request
	}{
		{"key-missing", on(coordinator(runs)), httptest.NewRequest(http.MethodPost, "/charges", strings.NewReader(order))},
		{"key-invalid", on(coordinator(runs)), charge(strings.Repeat("k", 256), order)},
		{"payload-invalid", on(coordinator(runs)), charge("k1", `{"amount":9007199254740993}`)},
		{"payload-too-large", refused(func(m *idempotencyhttp.Middleware) { m.MaxBody = 5 }), charge("k1", order)},
		{"no-scope", refused(func(m *idempotencyhttp.Middleware) {
			m.Scope = func(*http.Request) (string, error) { return "", errSecret }
		}), charge("k1", order)},
		{"no-authority", func() idempotencyhttp.Middleware {
			m := on(gives(`{"id":"ch_1"}`))
			m.Authorize = func(*http.Request) error { return errSecret }
			return m
		}(), charge("k1", order)},
		{"in-progress", on(fails(&idempotency.InProgressError{RetryAfter: 2100 * time.Millisecond})), charge("k1", order)},
		{"in-progress-soon", on(fails(&idempotency.InProgressError{})), charge("k1", order)},
		{"key-reused", on(fails(&idempotency.KeyReusedError{Stored: "v1:secret", Got: "v1:mine"})), charge("k1", order)},
		{"unknown-outcome", on(fails(fmt.Errorf("%w: %w", idempotency.ErrUnknownOutcome, errSecret))), charge("k1", order)},
		{"owner-failed", on(fails(&idempotency.OwnerFailedError{Failure: "secret"})), charge("k1", order)},
		{"store-unavailable", on(fails(&idempotency.StoreUnavailableError{Err: errSecret})), charge("k1", order)},
		{"answer-too-large", on(fails(idempotency.ErrResultTooLarge)), charge("k1", order)},
		{"answer-unreadable", on(gives(`idempotencyhttp/1 {"status":"secret"}`)), charge("k1", order)},
		{"gave-up", on(fails(context.DeadlineExceeded)), charge("k1", order)},
		{"failed", on(fails(errSecret)), charge("k1", order)},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			got := dump(t, answer(c.m.Wrap(&bank{}), c.r))
			if strings.Contains(got, "secret") {
				t.Errorf("it tells too much:\n%s", got)
			}
			golden(t, c.file+".txt", got)
		})
	}
}

// Each has a type of its own, and the documentation that it points to is there.
func TestEveryTypeIsShown(t *testing.T) {
	source, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(source)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ` = base + "`)
		if !ok {
			continue
		}
		if strings.TrimSuffix(value, `"`) != name {
			t.Errorf("%s points to %s", name, value)
		}
		shown := false
		files, _ := os.ReadDir("testdata")
		for _, f := range files {
			text, err := os.ReadFile("testdata/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			shown = shown || typeOf(string(text)) == name
		}
		if !shown {
			t.Errorf("no golden file shows %s", name)
		}
	}
}

// What an error says first counts: a store's error may wrap anything.
func TestTheCoordinatorsWordGoesFirst(t *testing.T) {
	cases := []struct {
		err    error
		status int
		want   string
		reason string
	}{
		{&idempotency.StoreUnavailableError{Err: context.DeadlineExceeded}, 503, "TypeStoreUnavailable", "the store's time was up, not the client's"},
		{fmt.Errorf("%w: %w", idempotency.ErrInvalidFingerprint, errSecret), 400, "TypePayloadInvalid", "a coordinator may look too"},
		{&idempotency.InvalidKeyError{Reason: "not a UUID"}, 400, "TypeKeyInvalid", "and may refuse a key"},
		{idempotency.ErrInvalidKey, 400, "TypeKeyInvalid", "in one word"},
		{idempotency.ErrInProgress, 409, "TypeInProgress", "without a time"},
		{fmt.Errorf("%w: declined", idempotency.ErrNoEffect), 503, "TypeOwnerFailed", "somebody else's failure, handed on"},
		{context.Canceled, 503, "TypeGaveUp", "the server ends it"},
	}
	for _, c := range cases {
		got := answer(on(fails(c.err)).Wrap(&bank{}), charge("k1", order))
		if body := text(t, got); got.StatusCode != c.status || typeOf(body) != c.want {
			t.Errorf("%v (%s): %d %s, want %d %s", c.err, c.reason, got.StatusCode, typeOf(body), c.status, c.want)
		}
	}
}
