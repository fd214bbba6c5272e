// Package fakeprovider is a payment provider that misbehaves on demand and can
// prove what it did: its ledger is the ground truth of every verdict.
//
// Behaviour is data, taken call by call from a script; races are made by event:
// a test holds calls, waits until they have arrived, and releases them. The
// package refuses to know idempotency keys' meaning beyond what a real provider
// does with the one it is handed (see Options.HonoursKeys), and never attributes
// a charge by key: only by the ref inside the payload.
package fakeprovider

import (
	"errors"
	"time"
)

// Errors that a call can end in. Only ErrDeclined says that nothing was charged
// in a way a caller may rely on.
var (
	// ErrDeclined: refused before any effect, definitively.
	ErrDeclined = errors.New("provider: declined")
	// ErrFailed: the provider answered with an error. There may be a charge (Behaviour.Fail says).
	ErrFailed = errors.New("provider: internal error")
	// ErrTimeout: no answer in time.
	ErrTimeout = errors.New("provider: timed out")
	// ErrAnswerLost: the connection broke after the request was sent; the outcome is unknown.
	ErrAnswerLost = errors.New("provider: connection lost before the answer")
	// ErrKeyReused: own idempotency: the key belongs to another payload (Stripe: 400).
	ErrKeyReused = errors.New("provider: idempotency key reused with another payload")
	// ErrKeyInUse: own idempotency: a call with this key is running (Stripe: 409).
	ErrKeyInUse = errors.New("provider: a call with this idempotency key is running")
	// ErrClosed: the provider was closed while the call was held.
	ErrClosed = errors.New("provider: closed")
)

// Fail says whether and where a call fails.
type Fail string

// The failures. The "before" kinds have no effect, the "after" kinds have charged.
const (
	NoFailure     Fail = ""
	Decline       Fail = "decline"        // before: ErrDeclined
	ErrorBefore   Fail = "error-before"   // before: ErrFailed
	TimeoutBefore Fail = "timeout-before" // before: ErrTimeout
	ErrorAfter    Fail = "error-after"    // charged: ErrFailed
	LoseAnswer    Fail = "lose-answer"    // charged: ErrAnswerLost
	HangAfter     Fail = "hang-after"     // charged; no answer until the caller's context ends
)

// Behaviour is what one call does. Order: Before, hold, fail-before or charge,
// After, hold-after, fail-after or answer. A call already arrived commits
// whatever becomes of its caller, as a real provider's does.
type Behaviour struct {
	Before    time.Duration `json:"before_ns,omitempty" yaml:"before,omitempty"`      // delay before the charge commits
	After     time.Duration `json:"after_ns,omitempty" yaml:"after,omitempty"`        // delay between commit and answer
	Hold      bool          `json:"hold,omitempty" yaml:"hold,omitempty"`             // wait for Release before the commit
	HoldAfter bool          `json:"hold_after,omitempty" yaml:"hold-after,omitempty"` // wait for Release after the commit
	Fail      Fail          `json:"fail,omitempty" yaml:"fail,omitempty"`
}

// Call is a request to the provider.
type Call struct {
	Ref     string // of the logical operation; charges are attributed by it
	Effect  string // kind of effect; "" means "charge"
	Amount  int64  // minor units
	Key     string // the idempotency key handed on, "" if none
	Attempt int    // passed through to observers, for histories; 0 if not known
}

// Charge is one line of the ledger.
type Charge struct {
	ID     string // ch_1, ch_2, … in order of commit
	Ref    string
	Effect string
	Amount int64
	Key    string
	Call   int // number of the call that made it
	Voided bool
}

// Counts are kept apart: two attempts and one charge is right when the key is
// handed on and honoured.
type Counts struct{ Attempts, Failures, Charges, Voids int }

// Phase is a moment in a call's life.
type Phase string

// The phases an observer sees, in order. Voided has no call.
const (
	Arrived   Phase = "arrived"
	Committed Phase = "committed"
	Replied   Phase = "replied"
	Voided    Phase = "voided"
)

// Event is what an observer is told, inside the provider's lock, so that the
// order of observations is the order of the ledger. Observers must not call back.
type Event struct {
	Phase  Phase
	Number int // of the call, from 1
	Call   Call
	Charge Charge // Committed, Replied with success, Voided
	Err    error  // Replied
}
