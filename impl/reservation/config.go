package reservation

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
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
	// DefaultCompleteFor is for how long completing is retried, never past the
	// lease: a failover of the store takes about as long. Where the lease is shorter
	// than four of it, the default is a quarter of the lease.
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

// Takeover says what becomes of a claim whose lease has ended, or whose outcome
// is unknown, when another attempt gets it: its former owner may have charged.
type Takeover string

// What takeovers do.
const (
	// TakeoverRuns runs the action with the former owner's provider key. With a
	// provider that honours it this asks for the first outcome; with one that
	// ignores it, it may be a second charge. It is the zero value's meaning.
	TakeoverRuns Takeover = "run"
	// TakeoverRefuses runs nothing: the record stays unknown, and every attempt is
	// told ErrUnknownOutcome until [Coordinator.Resolve]. All coordinators on one
	// store must agree on it, and errors must not release the key.
	TakeoverRefuses Takeover = "refuse"
)

// Offloader keeps results over the size limit elsewhere. Save returns a
// reference that is stored in the record; Load gives the result back on replay.
type Offloader interface {
	Save(ctx context.Context, req idempotency.Request, result []byte) (reference []byte, err error)
	Load(ctx context.Context, req idempotency.Request, reference []byte) ([]byte, error)
}

// Config of a coordinator; its zero value means the defaults above, and for the
// policies the coordinator's own. Constructors return a ConfigError for values
// out of range.
type Config struct {
	Lease       time.Duration
	Retention   time.Duration // at least MinRetention, and at least the lease
	WaitLimit   time.Duration
	CompleteFor time.Duration // less than the lease
	MaxResult   int           // bytes
	// MaxRun, if set, has the lease renewed while the action runs, for so long at
	// most; then, or when the lease is lost, the action's context ends. 0: nothing
	// is renewed, and the action must end within its lease.
	MaxRun    time.Duration
	StoreDown Policy
	OnError   OnError
	Takeover  Takeover
	// OnOrphan is called on a context that does not end with the client's, before
	// Do returns. It must compare before it voids: a provider that honours keys
	// gives both executions one effect, and then Result names the very effect that
	// Stands names. Where nothing stands yet, another execution is under way with
	// the same provider key. Results are opaque here: only byte-equal ones are
	// taken for one effect and not reported.
	OnOrphan func(context.Context, idempotency.Orphan)
	Offload  Offloader     // nil: an oversized result is remembered as done-but-too-large
	Logger   *slog.Logger  // nil: no log
	NewToken func() string // nil: 128 random bits
}

// ConfigError says which field of a configuration is refused, and why.
type ConfigError struct{ Field, Reason string }

func (e *ConfigError) Error() string {
	return "reservation: config: " + e.Field + " " + e.Reason
}

// WithPolicies fills in the policies that are not set: a coordinator calls it
// with its own defaults before it hands the configuration on.
func (c Config) WithPolicies(down Policy, onError OnError) Config {
	c.StoreDown = cmp.Or(c.StoreDown, down)
	c.OnError = cmp.Or(c.OnError, onError)
	return c
}

// WithDefaults fills in what is not set, and returns a ConfigError for what is
// out of range. Policies that nobody has chosen become the cautious ones:
// FailClosed and MarkUnknown.
func (c Config) WithDefaults() (Config, error) {
	c = c.WithPolicies(FailClosed, MarkUnknown)
	c.Lease = cmp.Or(c.Lease, DefaultLease)
	c.Retention = cmp.Or(c.Retention, DefaultRetention)
	c.WaitLimit = cmp.Or(c.WaitLimit, DefaultWaitLimit)
	c.CompleteFor = cmp.Or(c.CompleteFor, min(DefaultCompleteFor, c.Lease/4))
	c.MaxResult = cmp.Or(c.MaxResult, DefaultMaxResult)
	c.Takeover = cmp.Or(c.Takeover, TakeoverRuns)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.NewToken == nil {
		c.NewToken = rand.Text
	}
	return c, c.check()
}

// check refuses what would break the promise in silence: a record that is gone
// before the last retry, a lease that leaves no time to run.
func (c Config) check() error {
	refusals := []struct {
		refused bool
		field   string
		reason  func() string
	}{
		{c.Lease < 0, "Lease", func() string { return fmt.Sprintf("is negative: %v", c.Lease) }},
		{c.Retention < 0, "Retention", func() string { return fmt.Sprintf("is negative: %v", c.Retention) }},
		{c.Retention < MinRetention, "Retention", func() string {
			return fmt.Sprintf("%v is less than %v: a client's own retries go on for as long", c.Retention, MinRetention)
		}},
		{c.Retention < c.Lease, "Retention", func() string {
			return fmt.Sprintf("%v is less than Lease %v: a record outlives its lease", c.Retention, c.Lease)
		}},
		{c.WaitLimit < 0, "WaitLimit", func() string { return fmt.Sprintf("is negative: %v", c.WaitLimit) }},
		{c.CompleteFor < 0, "CompleteFor", func() string { return fmt.Sprintf("is negative: %v", c.CompleteFor) }},
		{c.CompleteFor >= c.Lease, "CompleteFor", func() string { return fmt.Sprintf("%v leaves the action nothing of Lease %v", c.CompleteFor, c.Lease) }},
		{c.MaxRun < 0, "MaxRun", func() string { return fmt.Sprintf("is negative: %v", c.MaxRun) }},
		{c.MaxResult < 0, "MaxResult", func() string { return fmt.Sprintf("is negative: %d", c.MaxResult) }},
		{c.StoreDown != FailOpen && c.StoreDown != FailClosed, "StoreDown", func() string { return fmt.Sprintf("%q is neither %q nor %q", c.StoreDown, FailOpen, FailClosed) }},
		{c.OnError != Release && c.OnError != MarkUnknown, "OnError", func() string { return fmt.Sprintf("%q is neither %q nor %q", c.OnError, Release, MarkUnknown) }},
		{c.Takeover != TakeoverRuns && c.Takeover != TakeoverRefuses, "Takeover", func() string {
			return fmt.Sprintf("%q is neither %q nor %q", c.Takeover, TakeoverRuns, TakeoverRefuses)
		}},
		{c.Takeover == TakeoverRefuses && c.OnError == Release, "OnError", func() string {
			return fmt.Sprintf("%q frees a key that may have had its effect, and Takeover is %q", Release, TakeoverRefuses)
		}},
	}
	for _, r := range refusals {
		if r.refused {
			return &ConfigError{Field: r.field, Reason: r.reason()}
		}
	}
	return nil
}
