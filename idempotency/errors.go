package idempotency

import (
	"errors"
	"fmt"
	"time"
)

// Sentinels for errors.Is. Those with evidence come as the typed errors below.
var (
	// ErrInvalidKey: the key is refused; nothing ran. See InvalidKeyError.
	ErrInvalidKey = errors.New("invalid idempotency key")
	// ErrInvalidFingerprint: the payload cannot be fingerprinted; nothing ran.
	ErrInvalidFingerprint = errors.New("invalid fingerprint")
	// ErrUnknownVersion: a stored fingerprint was written by a version that this one
	// does not know, or by nobody. Coordinators answer ErrStoreUnavailable, and
	// never run.
	ErrUnknownVersion = errors.New("fingerprint of an unknown version")
	// ErrInProgress: an identical request is running, or its outcome is unknown
	// and nobody may take over yet. See InProgressError.
	ErrInProgress = errors.New("a request with this idempotency key is in progress")
	// ErrKeyReused: the key belongs to another payload; nothing ran. See KeyReusedError.
	ErrKeyReused = errors.New("idempotency key reused with another payload")
	// ErrOwnerFailed: the execution that this call waited for failed. A retry may run.
	ErrOwnerFailed = errors.New("the request that held this idempotency key failed")
	// ErrUnknownOutcome: the effect may or may not have happened. Actions wrap it
	// to say so; coordinators return it for such an action.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrStoreUnavailable: the store is down and the policy, or what this call has
	// already seen, forbids running; or it holds a record that this version cannot
	// read. Nothing ran.
	ErrStoreUnavailable = errors.New("idempotency store unavailable")
	// ErrResultTooLarge: the effect happened once, but its result was over the
	// limit and was not kept.
	ErrResultTooLarge = errors.New("done, but the result was too large to keep")
	// ErrResultUnreadable: the effect happened once, but its result does not fit
	// the type that Do was asked for. Another key would be another effect.
	ErrResultUnreadable = errors.New("done, but the result does not unmarshal")
	// ErrNoEffect is for actions to wrap: the failure is known to have had no effect.
	ErrNoEffect = errors.New("no effect")
)

// InvalidKeyError says why a key is refused.
type InvalidKeyError struct{ Reason string }

func (e *InvalidKeyError) Error() string        { return ErrInvalidKey.Error() + ": " + e.Reason }
func (e *InvalidKeyError) Is(target error) bool { return target == ErrInvalidKey }

// InProgressError says how long the claim holds at most.
type InProgressError struct {
	// RetryAfter is the time left on the claim when it was read, by the store's
	// clock; 0 if not known. A retry may succeed much earlier.
	RetryAfter time.Duration
}

func (e *InProgressError) Error() string        { return ErrInProgress.Error() }
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress }

// KeyReusedError carries both fingerprints, and its text the start of both, for
// logs. Never show the stored one to a client, nor the text: it may be another
// principal's.
type KeyReusedError struct{ Stored, Got string }

func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("%v (stored %.14s, got %.14s)", ErrKeyReused, e.Stored, e.Got)
}
func (e *KeyReusedError) Is(target error) bool { return target == ErrKeyReused }

// OwnerFailedError carries the owner's failure in words.
type OwnerFailedError struct{ Failure string }

func (e *OwnerFailedError) Error() string        { return ErrOwnerFailed.Error() + ": " + e.Failure }
func (e *OwnerFailedError) Is(target error) bool { return target == ErrOwnerFailed }

// StoreUnavailableError carries the store's error, which errors.Is finds too.
type StoreUnavailableError struct{ Err error }

func (e *StoreUnavailableError) Error() string {
	return ErrStoreUnavailable.Error() + ": " + e.Err.Error()
}
func (e *StoreUnavailableError) Is(target error) bool { return target == ErrStoreUnavailable }
func (e *StoreUnavailableError) Unwrap() error        { return e.Err }
