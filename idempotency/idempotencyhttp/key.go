package idempotencyhttp

import (
	"net/http"
	"strings"

	"github.com/idemrace/idemrace/idempotency"
)

// noKey is the lack of a key in the header field of that name.
type noKey struct{ name string }

func (n *noKey) Error() string { return "no " + n.name }

// readKey finds the key. The draft has it as a structured field's string, in
// quotes; most clients send it bare. Both are taken, and "k" is the key k: a client
// library that begins to quote must not begin to charge again.
func readKey(h http.Header, name string) (string, error) {
	values := h.Values(name)
	switch {
	case len(values) == 0:
		return "", &noKey{name}
	case len(values) > 1:
		return "", &idempotency.InvalidKeyError{Reason: "more than one header field"}
	case strings.HasPrefix(values[0], `"`):
		return quoted(values[0])
	}
	return values[0], nil
}

// quoted reads an sf-string (RFC 8941, section 3.3.3) and nothing after it: the
// draft defines no parameters, and two keys that a proxy has joined with a comma
// are two keys.
func quoted(field string) (string, error) {
	var key strings.Builder
	for i := 1; i < len(field); i++ {
		c := field[i]
		switch {
		case c == '"' && i == len(field)-1:
			return key.String(), nil
		case c == '\\' && i+1 < len(field) && (field[i+1] == '"' || field[i+1] == '\\'):
			i++
			c = field[i]
		case c == '"' || c == '\\' || c < ' ' || c > '~':
			return "", errNoString()
		}
		key.WriteByte(c)
	}
	return "", errNoString()
}

func errNoString() error {
	return &idempotency.InvalidKeyError{Reason: "it begins with a quotation mark and is no string of RFC 8941"}
}
