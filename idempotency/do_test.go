package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/idempotency"
)

// shelf is the smallest coordinator: for one caller at a time, and for ever.
type shelf struct {
	calls   int
	results map[string][]byte
	failure error // what the last action returned
}

func (s *shelf) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	s.calls++
	if b, found := s.results[req.StoredName()]; found {
		return idempotency.Outcome{Result: b, Source: idempotency.Replayed, Stored: true}, nil
	}
	b, err := act(idempotency.WithProviderKey(ctx, req.ProviderKey(1)))
	if s.failure = err; err != nil {
		return idempotency.Outcome{}, err
	}
	if s.results == nil {
		s.results = map[string][]byte{}
	}
	s.results[req.StoredName()] = b
	return idempotency.Outcome{Result: b, Source: idempotency.Executed, Stored: true}, nil
}

type charge struct {
	ID    string `json:"id"`
	Notes string `json:"-"`
}

func request(t *testing.T, key string) idempotency.Request {
	t.Helper()
	f, err := idempotency.FingerprintFields(map[string]any{"amount": 100})
	if err != nil {
		t.Fatal(err)
	}
	return idempotency.Request{Tenant: "t", Operation: "charge", Key: key, Fingerprint: f}
}

func TestDoAnswersTheSameFreshAndReplayed(t *testing.T) {
	s, ran := &shelf{}, 0
	act := func(ctx context.Context) (charge, error) {
		ran++
		return charge{ID: fmt.Sprintf("ch_%d", ran), Notes: "JSON drops this"}, nil
	}
	for _, want := range []idempotency.Source{idempotency.Executed, idempotency.Replayed, idempotency.Replayed} {
		got, out, err := idempotency.Do(t.Context(), s, request(t, "k"), act)
		if err != nil || got != (charge{ID: "ch_1"}) || out.Source != want || string(out.Result) != `{"id":"ch_1"}` {
			t.Errorf("want ch_1 %s, got %+v, %+v, %v", want, got, out, err)
		}
	}
	if ran != 1 {
		t.Errorf("the action ran %d times", ran)
	}
}

func TestDoHandsOnTheProviderKey(t *testing.T) {
	req := request(t, "k")
	got, _, err := idempotency.Do(t.Context(), &shelf{}, req, func(ctx context.Context) (string, error) {
		return idempotency.ProviderKey(ctx), nil
	})
	if err != nil || got != req.ProviderKey(1) {
		t.Errorf("the action saw %q, %v", got, err)
	}
	if none := idempotency.ProviderKey(t.Context()); none != "" {
		t.Errorf("a key from nowhere: %q", none)
	}
}

func TestDoKeepsInvalidRequestsFromTheCoordinator(t *testing.T) {
	noFingerprint := request(t, "k")
	noFingerprint.Fingerprint = idempotency.Fingerprint{}
	for _, row := range []struct {
		why  string
		req  idempotency.Request
		want error
	}{
		{"no key", request(t, ""), idempotency.ErrInvalidKey},
		{"too long, and not cut short", request(t, strings.Repeat("k", 256)), idempotency.ErrInvalidKey},
		{"a blank at the end, and not trimmed", request(t, "k "), idempotency.ErrInvalidKey},
		{"no fingerprint would make all payloads equal", noFingerprint, idempotency.ErrInvalidFingerprint},
	} {
		s := &shelf{}
		_, out, err := idempotency.Do(t.Context(), s, row.req, func(context.Context) (string, error) {
			t.Errorf("%s: the action ran", row.why)
			return "", nil
		})
		if !errors.Is(err, row.want) || out.Source != "" || s.calls != 0 {
			t.Errorf("%s: %v, %+v, %d calls", row.why, err, out, s.calls)
		}
	}
}

func TestDoReturnsTheActionsOwnError(t *testing.T) {
	declined := errors.New("card declined")
	_, _, err := idempotency.Do(t.Context(), &shelf{}, request(t, "k"), func(context.Context) (charge, error) {
		return charge{ID: "ignored"}, fmt.Errorf("%w: %w", idempotency.ErrNoEffect, declined)
	})
	if !errors.Is(err, declined) || !errors.Is(err, idempotency.ErrNoEffect) {
		t.Errorf("got %v", err)
	}
}

// The charge is made by then. Were this a plain failure, the coordinator would
// free the key and a retry would charge again.
func TestDoResultThatDoesNotMarshalIsUnknown(t *testing.T) {
	s := &shelf{}
	_, _, err := idempotency.Do(t.Context(), s, request(t, "k"), func(context.Context) (func(), error) {
		return func() {}, nil
	})
	if !errors.Is(err, idempotency.ErrUnknownOutcome) || errors.Is(err, idempotency.ErrNoEffect) {
		t.Errorf("the caller gets %v", err)
	}
	if !errors.Is(s.failure, idempotency.ErrUnknownOutcome) {
		t.Errorf("the coordinator gets %v", s.failure)
	}
}

func TestDoResultOfAnotherTypeIsUnreadable(t *testing.T) {
	s := &shelf{}
	act := func(context.Context) (string, error) { return "ch_1", nil }
	if _, _, err := idempotency.Do(t.Context(), s, request(t, "k"), act); err != nil {
		t.Fatal(err)
	}
	got, out, err := idempotency.Do(t.Context(), s, request(t, "k"), func(context.Context) (charge, error) {
		t.Error("the action ran again")
		return charge{}, nil
	})
	if !errors.Is(err, idempotency.ErrResultUnreadable) || !strings.Contains(err.Error(), "replayed") {
		t.Errorf("the error does not say what is unreadable: %v", err)
	}
	if got != (charge{}) || string(out.Result) != `"ch_1"` || out.Source != idempotency.Replayed {
		t.Errorf("half a result, or none to look at: %+v, %+v", got, out)
	}
}

func TestTypedErrorsAreTheirSentinels(t *testing.T) {
	cause := errors.New("connection refused")
	sentinels := []error{
		idempotency.ErrInvalidKey, idempotency.ErrInProgress, idempotency.ErrKeyReused,
		idempotency.ErrOwnerFailed, idempotency.ErrStoreUnavailable, idempotency.ErrUnknownOutcome, cause,
	}
	for _, row := range []struct {
		err  error
		want []error
		says string
	}{
		{&idempotency.InvalidKeyError{Reason: "empty"}, sentinels[0:1], "empty"},
		{&idempotency.InProgressError{}, sentinels[1:2], "in progress"},
		{&idempotency.KeyReusedError{Stored: "v1:0123456789abcdef", Got: "v1:fedcba9876543210"}, sentinels[2:3], "v1:0123456789a,"},
		{&idempotency.OwnerFailedError{Failure: "timeout"}, sentinels[3:4], "timeout"},
		{&idempotency.StoreUnavailableError{Err: cause}, []error{sentinels[4], cause}, "refused"},
	} {
		for _, sentinel := range sentinels {
			want := false
			for _, w := range row.want {
				want = want || w == sentinel
			}
			if got := errors.Is(fmt.Errorf("wrapped: %w", row.err), sentinel); got != want {
				t.Errorf("%T is %v: %v", row.err, sentinel, got)
			}
		}
		if !strings.Contains(row.err.Error(), row.says) {
			t.Errorf("%T does not say %q: %v", row.err, row.says, row.err)
		}
	}
}
