package idempotency

import "errors"

// Fingerprint is a versioned hash over explicitly named fields of a payload.
// Two requests with one key and equal fingerprints are one request. Make one
// with FingerprintJSON or FingerprintFields; the zero value is refused.
type Fingerprint struct {
	canonical []byte // RFC 8785 form of the named fields
}

// ErrUnknownVersion: a stored fingerprint was written by a version that this one
// does not know. Coordinators answer ErrStoreUnavailable, and never run.
var ErrUnknownVersion = errors.New("fingerprint of an unknown version")

// IsZero reports whether no fingerprint was made.
func (f Fingerprint) IsZero() bool { return f.canonical == nil }
