package store_test

import (
	"testing"

	"github.com/idemrace/idemrace/store"
)

func TestValueState(t *testing.T) {
	for _, row := range []struct {
		value string
		want  store.State
		why   string
	}{
		{`{"state":"pending"}`, store.Pending, "a JSON object says its state"},
		{`{"a":1,"state":"unknown"}`, store.Unknown, "other members do not matter"},
		{`{"State":"pending"}`, store.Done, "names are compared exactly"},
		{`{"state":1}`, store.Done, "a state must be a string"},
		{`{"state":null}`, store.Done, "null is not a string"},
		{`{}`, store.Done, "no state: a value that stands"},
		{`["state"]`, store.Done, "not an object"},
		{`null`, store.Done, "not an object"},
		{``, store.Done, "an empty value stands too"},
		{"\x00\xff", store.Done, "values need not be text"},
	} {
		if got := store.ValueState([]byte(row.value)); got != row.want {
			t.Errorf("ValueState(%q) = %q, want %q: %s", row.value, got, row.want, row.why)
		}
	}
}
