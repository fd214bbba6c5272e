package idempotencyhttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/idempotency"
)

func TestKeys(t *testing.T) {
	cases := []struct {
		fields []string
		want   string // the key, "" if refused
		reason string
	}{
		{[]string{"order-42"}, "order-42", "bare, as most clients send it"},
		{[]string{`"order-42"`}, "order-42", "a string of RFC 8941, as the draft has it, is the same key"},
		{[]string{`"a\"b\\c"`}, `a"b\c`, "its escapes are undone"},
		{[]string{`a"b`}, `a"b`, "a quotation mark inside is a character like others"},
		{[]string{`a\b`}, `a\b`, "and bare keys have no escapes"},
		{[]string{"Größe"}, "Größe", "bare UTF-8"},
		{[]string{"a", "b"}, "", "two fields"},
		{[]string{"a", "a"}, "", "two fields that agree are two"},
		{[]string{`"a", "b"`}, "", "two that a proxy has joined"},
		{[]string{`"a`}, "", "no end"},
		{[]string{`"`}, "", "no end, and nothing else"},
		{[]string{`"a"b`}, "", "something after the end"},
		{[]string{`"a";p=1`}, "", "the draft defines no parameters"},
		{[]string{`"a\n"`}, "", "no such escape"},
		{[]string{`"a\"`}, "", "the end is escaped"},
		{[]string{`"Größe"`}, "", "strings of RFC 8941 are ASCII"},
		{[]string{`""`}, "", "empty"},
		{[]string{""}, "", "empty, and bare"},
		{[]string{`" a"`}, "", "white space at an end is not trimmed"},
		{[]string{strings.Repeat("k", 256)}, "", "too long"},
		{[]string{"\xff"}, "", "no UTF-8"},
	}
	for _, c := range cases {
		var got string
		seen := coordinator(func(_ context.Context, req idempotency.Request, _ idempotency.Action) (idempotency.Outcome, error) {
			got = req.Key
			return idempotency.Outcome{}, nil
		})
		r := charge("", order)
		r.Header["Idempotency-Key"] = c.fields
		status := answer(on(seen).Wrap(&bank{}), r).StatusCode
		if got != c.want || (status == http.StatusBadRequest) != (c.want == "") {
			t.Errorf("%q (%s): key %q, status %d; want %q", c.fields, c.reason, got, status, c.want)
		}
	}
}

func FuzzKey(f *testing.F) {
	for _, seed := range []string{"a", `"a"`, `"\"`, `"a\\"`, `"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		r := charge("", order)
		r.Header["Idempotency-Key"] = []string{field}
		c := coordinator(func(_ context.Context, req idempotency.Request, _ idempotency.Action) (idempotency.Outcome, error) {
			if err := req.Validate(); err != nil {
				t.Errorf("%q got through: %v", field, err)
			}
			if !strings.HasPrefix(field, `"`) && req.Key != field {
				t.Errorf("%q became %q", field, req.Key)
			}
			return idempotency.Outcome{}, nil
		})
		answer(on(c).Wrap(&bank{}), r)
	})
}

// A service that has published a format holds to it, and one with another header
// field finds it there.
func TestKeysOfOnesOwn(t *testing.T) {
	m := on(coordinator(runs))
	m.HeaderName = "X-Order-Id"
	m.CheckKey = func(key string) error {
		if len(key) != 3 {
			return errors.New("not three characters")
		}
		return nil
	}
	h := m.Wrap(&bank{})
	for key, want := range map[string]int{"abc": http.StatusCreated, "abcd": http.StatusBadRequest} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(order))
		r.Header.Set("X-Order-Id", key)
		got := answer(h, r)
		if body := text(t, got); got.StatusCode != want || want == http.StatusBadRequest && !strings.Contains(body, "not three characters") {
			t.Errorf("%s: %d %s", key, got.StatusCode, body)
		}
	}
	if got := answer(h, charge("abc", order)); !strings.Contains(text(t, got), "X-Order-Id") {
		t.Error("the missing field is not named")
	}
}
