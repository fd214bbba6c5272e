package reservation

import (
	"context"
	"log/slog"
	"time"

	"github.com/idemrace/idemrace/idempotency"
)

// Defaults, each with its reason.
const (
	// DefaultLease must outlast the slowest honest attempt; 30 s is usual, being
	// the longest common HTTP client time-out to a payment provider.
	DefaultLease = 30 * time.Second
	// DefaultRetention outlives the latest possible retry: a batch that is rerun
	// the next day. Stripe keeps keys at least as long.
	DefaultRetention = 24 * time.Hour
	// MinRetention: a client's own retries go on for about a minute.
	MinRetention = time.Minute
	// DefaultWaitLimit is how long a duplicate waits for the first before it is
	// told "in progress": a client's usual patience.
	DefaultWaitLimit = 10 * time.Second
	// DefaultCompleteFor is for how long completing is retried, never past the lease.
	DefaultCompleteFor = time.Second
	// DefaultMaxResult is the largest result kept in the record, in bytes.
	DefaultMaxResult = 64 << 10
)

// Duplicates says what a caller gets whose key is held by another.
type Duplicates string

// What duplicates do.
const (
	DuplicatesWait  Duplicates = "wait"  // for the first one's result
	DuplicatesRaise Duplicates = "raise" // ErrInProgress at once
)

// Policy says what happens when the store is down before the action has run.
type Policy string

// The policies.
const (
	FailOpen   Policy = "open"   // run unprotected; log and count it
	FailClosed Policy = "closed" // ErrStoreUnavailable, nothing runs
)

// OnError says what an action's error does that wraps neither ErrNoEffect nor
// ErrUnknownOutcome.
type OnError string

// What errors do.
const (
	Release     OnError = "release" // frees the key: errors are not cached
	MarkUnknown OnError = "unknown" // keeps the claim until its lease ends
)

// Offloader keeps results over the size limit elsewhere. Save returns a
// reference that is stored in the record; Load gives the result back on replay.
type Offloader interface {
	Save(ctx context.Context, req idempotency.Request, result []byte) (reference []byte, err error)
	Load(ctx context.Context, req idempotency.Request, reference []byte) ([]byte, error)
}

// Config of a coordinator; its zero value means the defaults above, and for the
// policies the coordinator's own. Constructors return an error that names the
// field for values out of range.
type Config struct {
	Lease       time.Duration
	Retention   time.Duration // at least MinRetention, and at least the lease
	WaitLimit   time.Duration
	CompleteFor time.Duration // less than the lease
	MaxResult   int           // bytes
	StoreDown   Policy
	OnError     OnError
	OnOrphan    func(context.Context, idempotency.Orphan) // called on a context that does not end with the client's
	Offload     Offloader                                 // nil: an oversized result is remembered as done-but-too-large
	Logger      *slog.Logger                              // nil: no log
	NewToken    func() string                             // nil: 128 random bits
}
