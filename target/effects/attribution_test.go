package effects

import (
	"net/http"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/fakeprovider/providerhttp"
)

func TestAttributionFindsTheRef(t *testing.T) {
	call := providerhttp.Sighting{
		Description: "order r1, thank you",
		Metadata:    map[string]string{"ref": "r2"},
		Header:      http.Header{"X-Ref": {"r3"}},
		Body:        []byte(`{"ref": "r4", "order": {"lines": [{"id": 7}]}}`),
		Key:         "never this",
	}
	for _, row := range []struct{ ref, want, why string }{
		{"description", "order r1, thank you", "the ref is a part of it, and the caller's to find"},
		{"metadata:ref", "r2", "as Stripe's"},
		{"header:x-ref", "r3", "headers have no case"},
		{"field:ref", "r4", "a member"},
		{"field:order.lines.0.id", "7", "a path; a number is text"},
		{"field:nothing", "", "the place is not there"},
		{"metadata:nothing", "", "the place is not there"},
		{"amount", "", "the amount is no text"},
		{"", "", "the default is the amount"},
	} {
		a, err := Attribute(row.ref)
		if err != nil {
			t.Errorf("%q (%s): %v", row.ref, row.why, err)
			continue
		}
		if got := a.Text(call); got != row.want {
			t.Errorf("%q (%s): found %q, want %q", row.ref, row.why, got, row.want)
		}
		if byAmount := row.ref == "" || row.ref == "amount"; a.ByAmount() != byAmount {
			t.Errorf("%q: by amount is %v", row.ref, a.ByAmount())
		}
	}
}

func TestAttributionRefuses(t *testing.T) {
	for _, row := range []struct{ ref, why string }{
		{"key", "the key is what is tested"},
		{"header:idempotency-key", "so it is here"},
		{"field", "of what name?"},
		{"header:", "of what name?"},
		{"amount:x", "an amount has no name"},
		{"description:x", "a description has no name"},
		{"feild:ref", "misspelt"},
		{" amount", "nothing is trimmed"},
	} {
		_, err := Attribute(row.ref)
		if err == nil || !strings.Contains(err.Error(), "field:PATH, header:NAME or metadata:NAME") || !strings.HasPrefix(err.Error(), "effects.ref: ") {
			t.Errorf("%q (%s): %v; want a refusal that lists the forms", row.ref, row.why, err)
		}
	}
}
