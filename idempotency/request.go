package idempotency

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxKey is the longest key accepted, in characters (not bytes). 255 is what
// Stripe and the IETF draft's examples allow, and what fits an indexed column.
const MaxKey = 255

// Validate returns an InvalidKeyError unless the key has 1 to MaxKey characters
// of valid UTF-8, no control characters and no white space at either end; and
// ErrInvalidFingerprint for a zero Fingerprint.
func (r Request) Validate() error {
	if reason := badKey(r.Key); reason != "" {
		return &InvalidKeyError{Reason: reason}
	}
	if r.Fingerprint.IsZero() {
		return fmt.Errorf("%w: none given", ErrInvalidFingerprint)
	}
	return nil
}

func badKey(key string) string {
	if key == "" {
		return "empty"
	}
	if !utf8.ValidString(key) {
		return "not valid UTF-8"
	}
	if n := utf8.RuneCountInString(key); n > MaxKey {
		return fmt.Sprintf("%d characters, more than %d", n, MaxKey)
	}
	if strings.TrimFunc(key, unicode.IsSpace) != key {
		return "white space at an end"
	}
	if strings.ContainsFunc(key, unicode.IsControl) {
		return "a control character"
	}
	return ""
}

// StoredName is the name under which a store keeps the request's record. No two
// different triples have the same one: each part is preceded by its length in
// bytes. Braces are escaped so that a cluster hashes the whole name.
func (r Request) StoredName() string {
	var b strings.Builder
	for _, part := range []string{r.Tenant, r.Operation, r.Key} {
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte('.')
		b.WriteString(braces.Replace(part))
	}
	return b.String()
}

// The escape sign is escaped too, so the replacement can be undone; the length
// is that of the part before it.
var braces = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// ProviderKey is the key to hand to a provider for the given generation (1 is
// the first): 47 characters, at most 64 as the narrowest providers allow. Raw
// keys would collide across tenants and operations. The generation rises only
// after a failure that is known to have had no effect, so that a provider which
// replays failures lets the next try through, and no other try is a new charge.
func (r Request) ProviderKey(generation int64) string {
	sum := sha256.Sum256([]byte(r.StoredName() + "#" + strconv.FormatInt(generation, 10)))
	return "ik1-" + base64.RawURLEncoding.EncodeToString(sum[:])
}
