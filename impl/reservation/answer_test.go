package reservation_test

import (
	"errors"
	"testing"

	"github.com/idemrace/idemrace/idempotency"
)

// wants checks a successful answer.
func (a answer) wants(t *testing.T, result string, source idempotency.Source, stored bool) {
	t.Helper()
	if a.err != nil {
		t.Fatalf("error %v; want %s from %s", a.err, result, source)
	}
	if string(a.Result) != result || a.Source != source || a.Stored != stored {
		t.Fatalf("got %s from %s, stored %v; want %s from %s, stored %v", a.Result, a.Source, a.Stored, result, source, stored)
	}
}

// fails checks an error: it must match every one of the targets.
func (a answer) fails(t *testing.T, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(a.err, target) {
			t.Fatalf("got %s, error %v; want an error that is %q", a.Result, a.err, target)
		}
	}
}
