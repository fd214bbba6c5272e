package effects

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/idemrace/idemrace/fakeprovider/providerhttp"
)

// Attribution is a Spec's Ref, parsed: where a call of the provider holds the ref.
// Never in its key: what the provider is handed there is part of what is tested.
type Attribution struct{ kind, name string }

// The forms of Spec.Ref.
const (
	byField       = "field"
	byHeader      = "header"
	byMetadata    = "metadata"
	byDescription = "description"
	byAmount      = "amount"
)

const (
	forms       = "it is amount, description, field:PATH, header:NAME or metadata:NAME"
	providerKey = "Idempotency-Key"
)

// Attribute parses a Spec's Ref; "" is amount.
func Attribute(ref string) (Attribution, error) {
	kind, name, named := strings.Cut(ref, ":")
	switch kind {
	case "", byAmount, byDescription:
		if !named {
			if kind == "" {
				kind = byAmount
			}
			return Attribution{kind: kind}, nil
		}
	case byField, byHeader, byMetadata:
		if strings.EqualFold(name, providerKey) {
			return Attribution{}, fmt.Errorf("effects.ref: %q is the key, and what the provider gets there is what is tested; %s", ref, forms)
		}
		if name != "" {
			return Attribution{kind, name}, nil
		}
	}
	return Attribution{}, fmt.Errorf("effects.ref: %q is no way to find a ref; %s", ref, forms)
}

// ByAmount reports whether every logical operation needs an amount of its own.
func (a Attribution) ByAmount() bool { return a.kind == byAmount }

// Text is what the ref is found in, "" if the place is not there.
func (a Attribution) Text(s providerhttp.Sighting) string {
	switch a.kind {
	case byField:
		return gjson.GetBytes(s.Body, a.name).String()
	case byHeader:
		return s.Header.Get(a.name)
	case byMetadata:
		return s.Metadata[a.name]
	case byDescription:
		return s.Description
	}
	return ""
}
