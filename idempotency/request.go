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

// MaxKey is the longest key accepted, in characters (not bytes). 255 is Stripe's
// limit, and what fits an indexed column.
const MaxKey = 255

// Validate returns an InvalidKeyError unless the key has 1 to MaxKey characters
// of valid UTF-8, no control characters and no white space at either end; and
// ErrInvalidFingerprint for a zero Fingerprint. Keys that look alike but differ
// in a byte are different keys: nothing is folded or normalised. Tenant and
// operation are the program's own and may hold anything.
func (r Request) Validate() error {
	if reason := badKey(r.Key); reason != "" {
		return &InvalidKeyError{Reason: reason}
	}
	if r.Fingerprint.IsZero() {
		return invalid("none given")
	}
	return nil
}

// badKey says in words what is wrong with a key; "" if nothing is. It never
// repeats the key: the words may go to a client or a log.
func badKey(key string) string {
	switch {
	case key == "":
		return "empty"
	case !utf8.ValidString(key):
		return "not valid UTF-8"
	case utf8.RuneCountInString(key) > MaxKey:
		return fmt.Sprintf("%d characters, more than %d", utf8.RuneCountInString(key), MaxKey)
	case strings.TrimSpace(key) != key:
		return "white space at an end"
	case strings.ContainsFunc(key, unicode.IsControl):
		return "a control character"
	}
	return ""
}

// StoredName is the name under which a store keeps the request's record. No two
// different triples of tenant, operation and key have the same one: each part is
// preceded by its length in bytes and a dot, so that a reader knows where it
// ends whatever it holds. It never changes between releases: a record that is
// not found again is a second charge.
//
// Braces are escaped. A Redis Cluster hashes only what stands between the first
// "{" of a whole key and the next "}"; with braces of its own a client could put
// all its records into one slot. A store that wants a hash tag puts it into its
// prefix.
func (r Request) StoredName() string {
	var b strings.Builder
	for _, part := range []string{r.Tenant, r.Operation, r.Key} {
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte('.')
		b.WriteString(escapeBraces(part))
	}
	return b.String()
}

var escapes = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// escapeBraces can be undone, since the escape sign is escaped too: no two parts
// become one. The length before a part is that of the part as it was.
func escapeBraces(part string) string {
	return escapes.Replace(part)
}

// ProviderKey is the key to hand to a provider for the given generation (1 is
// the first). It is 36 characters of letters, digits, "-" and "_", as long as a
// UUID: Adyen takes up to 64, Stripe 255, and some no more than a UUID (Helcim).
// Its 192 bits of SHA-256 keep all triples and generations apart, which raw keys
// do not: they would collide across tenants and operations.
//
// The generation rises only after a failure that is known to have had no effect,
// and not while an earlier attempt of the key may still charge.
// So a provider which replays failures lets the next try through, and no other
// try can be a new charge.
func (r Request) ProviderKey(generation int64) string {
	sum := sha256.Sum256([]byte(r.StoredName() + "#" + strconv.FormatInt(generation, 10)))
	return "ik1-" + base64.RawURLEncoding.EncodeToString(sum[:24])
}
