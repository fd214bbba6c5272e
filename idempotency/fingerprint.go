package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Fingerprint is a versioned hash over explicitly named fields of a payload.
// Two requests with one key and equal fingerprints are one request. Make one
// with [FingerprintJSON] or [FingerprintFields]; the zero value is refused.
// Fingerprints can be compared with ==.
type Fingerprint struct {
	canonical string // RFC 8785 form of the named fields; kept, so that older versions can be computed
}

// FingerprintFields makes a fingerprint of all the given fields, each marshalled
// by encoding/json. No fields is an error: all requests would be equal. So is
// what does not marshal, and what [FingerprintJSON] refuses, an int64 beyond
// ±(2^53−1) among it. Errors wrap ErrInvalidFingerprint.
//
// U+FFFD is refused here: encoding/json, and whoever decoded the fields with it,
// puts it in the place of what is not UTF-8, so two strings may have become one.
func FingerprintFields(fields map[string]any) (Fingerprint, error) {
	if len(fields) == 0 {
		return Fingerprint{}, invalid("no fields named")
	}
	doc, err := json.Marshal(fields)
	if err != nil {
		return Fingerprint{}, invalid("%v", err)
	}
	f, err := fingerprint(doc)
	if err != nil {
		return Fingerprint{}, err
	}
	if strings.ContainsRune(f.canonical, utf8.RuneError) {
		return Fingerprint{}, invalid("a string is not valid UTF-8, or holds U+FFFD, which replaces what is not")
	}
	return f, nil
}

// FingerprintJSON makes a fingerprint of the named members of a JSON object. A
// name with dots is a path: "card.last4" is the member last4 of the member card.
// Members that are not named do not count, nor does the order of members or
// names. An absent member differs from a null one; below an absent or null
// member all is absent.
//
// Refused, with errors that wrap ErrInvalidFingerprint:
//   - no names, or an empty one: all requests would be equal;
//   - a payload that is not one object of I-JSON (RFC 7493), which is what
//     RFC 8785 can canonicalise: duplicate members, invalid UTF-8, lone
//     surrogates, trailing data and nesting below 10,000 levels, anywhere in it;
//   - a named number beyond ±(2^53−1), or with digits that a double does not
//     hold (RFC 7493, section 2.2): two big amounts would become one request.
//     Send such numbers as strings;
//   - a path that leads through something other than an object.
func FingerprintJSON(payload []byte, names ...string) (Fingerprint, error) {
	if len(names) == 0 {
		return Fingerprint{}, invalid("no fields named")
	}
	object, err := members(payload)
	if err != nil {
		return Fingerprint{}, err
	}
	named := map[string]json.RawMessage{}
	for _, name := range names {
		value, found, err := lookup(object, name)
		if err != nil {
			return Fingerprint{}, err
		}
		if found {
			named[name] = value
		}
	}
	doc, err := json.Marshal(named)
	if err != nil {
		return Fingerprint{}, invalid("%v", err)
	}
	return fingerprint(doc)
}

// fingerprint of a document that holds the named fields and nothing else.
func fingerprint(doc []byte) (Fingerprint, error) {
	c, err := canonical(doc)
	if err != nil {
		return Fingerprint{}, err
	}
	return Fingerprint{canonical: string(c)}, nil
}

// members splits a JSON object. It is canonicalised first only to be examined:
// encoding/json would keep the last of two members and mend what is not UTF-8.
func members(payload []byte) (map[string]json.RawMessage, error) {
	if err := examine(payload); err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(payload, &object); err != nil || object == nil {
		return nil, invalid("the payload is not a JSON object")
	}
	return object, nil
}

// lookup follows a dotted path down from object.
func lookup(object map[string]json.RawMessage, name string) (value json.RawMessage, found bool, err error) {
	if name == "" || !utf8.ValidString(name) {
		return nil, false, invalid("the name %q is empty or not valid UTF-8", name)
	}
	path := strings.Split(name, ".")
	for i, step := range path {
		value, found = object[step]
		if !found || i == len(path)-1 {
			break
		}
		object = nil // else Unmarshal would add to it
		if err := json.Unmarshal(value, &object); err != nil {
			return nil, false, invalid("%q leads through %q, which is not an object", name, step)
		}
	}
	return value, found, nil
}

// String is the fingerprint as stored by the current version, "v1:" and the hex
// SHA-256 of the canonical form; "" for the zero value.
func (f Fingerprint) String() string {
	if f.IsZero() {
		return ""
	}
	return versions()[0].spell(f)
}

// All is the fingerprint's spelling in every known version, newest first: a
// stored one that is among them is equal. It is nil for the zero value.
func (f Fingerprint) All() []string { return f.all(versions()) }

func (f Fingerprint) all(known []version) []string {
	if f.IsZero() {
		return nil
	}
	var spellings []string
	for _, v := range known {
		spellings = append(spellings, v.spell(f))
	}
	return spellings
}

// Matches reports whether f is equal to a stored fingerprint, compared under the
// stored one's version. It returns ErrUnknownVersion if that is not known or
// stored is malformed, and ErrInvalidFingerprint if f is the zero value: neither
// says that the payloads differ.
func (f Fingerprint) Matches(stored string) (bool, error) { return f.matches(stored, versions()) }

func (f Fingerprint) matches(stored string, known []version) (bool, error) {
	if f.IsZero() {
		return false, invalid("none given")
	}
	name, sum, _ := strings.Cut(stored, ":")
	for _, v := range known {
		if v.name != name {
			continue
		}
		mine := v.sum(f.canonical)
		if len(sum) != len(mine) || strings.Trim(sum, "0123456789abcdef") != "" {
			break
		}
		return sum == mine, nil
	}
	return false, fmt.Errorf("%w: %.20q", ErrUnknownVersion, stored)
}

// IsZero reports whether no fingerprint was made.
func (f Fingerprint) IsZero() bool { return f.canonical == "" }

// version is one way to spell a fingerprint. A released one never changes.
type version struct {
	name string                        // stands before the colon
	sum  func(canonical string) string // lower-case hex, of one length
}

func (v version) spell(f Fingerprint) string { return v.name + ":" + v.sum(f.canonical) }

// versions that can be read, newest first. The first is the one written.
func versions() []version {
	return []version{
		{"v1", sha256Hex},
	}
}

func sha256Hex(canonical string) string {
	sum := sha256.Sum256([]byte(canonical))
	return hex.EncodeToString(sum[:])
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalidFingerprint, fmt.Sprintf(format, args...))
}
