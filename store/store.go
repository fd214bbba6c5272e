// Package store says where records live, as three ports.
//
//   - [Store] has the atomic operations of a reservation: claim, settle, await,
//     keep. Correct coordinators stand on it.
//   - [KV] has the plain commands that naive code uses. Nothing in it is atomic
//     beyond one command; that is its point.
//   - [Inspector] lists a run's own records; [Controller] ends leases and
//     retentions by command, so that no test has to wait for them.
//
// The package holds meaning only. It refuses to know Redis, goroutines or
// sockets: see store/redisstore and store/memstore, and store/storetest for the
// laws that both must obey.
package store

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable is wrapped by every error that means "the store did not do it,
// or we cannot know": refused and cut connections, time-outs, OOM, LOADING,
// READONLY, CLUSTERDOWN. Callers test with errors.Is.
var ErrUnavailable = errors.New("store unavailable")

// ErrMisuse is wrapped beside ErrUnavailable when the store was there and refused
// what it was asked: a value of another kind under the name, say. Nobody took the
// store away; whoever asked is at fault.
var ErrMisuse = errors.New("the store was asked what it cannot do")

// ErrLeaseLost is the cause of a context made by [Store.Keep] once renewal has
// found that the claim is no longer the caller's.
var ErrLeaseLost = errors.New("lease lost: another owner has the claim")

// ErrRunTooLong is the cause of a context made by [Store.Keep] once
// [Renewal.MaxRun] has passed.
var ErrRunTooLong = errors.New("maximum run time passed: the lease is no longer renewed")

// State is where a record stands.
type State string

// The states of a record. An absent record has state Absent.
const (
	Absent  State = ""        // no record: never claimed, or retention is over
	Pending State = "pending" // claimed; exclusive until the lease's end
	Done    State = "done"    // final: a result stands, until retention ends
	Unknown State = "unknown" // may or may not have had its effect; claimable after the lease's end
	Free    State = "free"    // released after a failure: claimable at once, fingerprint and fence kept
)

// Form says what a final record's Result holds.
type Form string

// The forms of a result.
const (
	Inline    Form = ""          // Result is the result
	Reference Form = "reference" // Result is what the offloader gave for it
	TooLarge  Form = "too-large" // Result is empty: done, but the result was over the limit
)

// Record is what the store keeps under a name.
type Record struct {
	Name        string
	State       State
	Fingerprint string // versioned, as written by the first claim
	Token       string // owner (Pending, Unknown) or writer (Done)
	Fence       int64  // rises by one with every change of owner; 1 is the first claim
	// Generation rises by one with a release that is known to have had no effect,
	// as long as all before it were: once an owner was overtaken or failed without
	// being sure, its call may still be on its way, and a new provider key would let
	// both charge. So it rises only while it equals Fence. 1 is the first.
	Generation int64
	Form       Form
	Result     []byte        // Done only
	Failure    string        // why it was released (Free) or unknown (Unknown); in words, for waiters
	LeaseLeft  time.Duration // by the store's clock, when read; 0 or less: the lease has ended
	ExpiresIn  time.Duration // the record's own expiry (retention), when read by an Inspector; negative: it never expires
}

// Final reports whether nothing more can change the record before retention ends.
func (r Record) Final() bool { return r.State == Done }

// Claim asks for the exclusive right to act under a name.
type Claim struct {
	Name         string        // the stored name
	Fingerprint  string        // what a new record gets
	Fingerprints []string      // all spellings, Fingerprint among them, under which a stored one counts as equal (older versions)
	Token        string        // unique per attempt; claiming again with it is the same claim
	Lease        time.Duration // from the store's time of the claim
	Retention    time.Duration // the record's own expiry, from now
	Wait         bool          // if somebody else holds it: register for a notice, see Claimed.Ticket
}

// Claimed is the answer to a claim.
type Claimed struct {
	Mine   bool   // the caller owns the record now
	Record Record // mine: as it stands now (Token, Fence, Generation, LeaseLeft); else what stands there
	Took   bool   // mine, and a former owner's lease had ended
	// Ticket is set when Claim.Wait was asked for and the record is somebody
	// else's Pending one with an equal fingerprint. Exactly one Await must follow.
	Ticket Ticket
}

// Ticket names a registered waiter of this process. The zero value is none.
type Ticket uint64

// Settlement ends a claim, as its owner only.
type Settlement struct {
	Name      string
	Token     string
	To        State // Done, Free or Unknown
	NoEffect  bool  // Free: known to have had no effect, so the generation rises
	Form      Form
	Result    []byte
	Failure   string        // Free, Unknown: in words, handed to waiters
	Retention time.Duration // the record's own expiry, from now
	// Fingerprint is written when To is Done and the record is absent (the
	// caller ran unprotected, or the store lost the claim).
	Fingerprint string
}

// Settled is the answer to a settlement.
type Settled struct {
	// Applied: the record is now as asked, by this call or an earlier one with
	// the same token. Done applies if the record is still the caller's (after
	// its lease too, when nobody took over), or is Absent or Free: nobody's. Free
	// and Unknown apply only if the record is still the caller's. Nothing ever
	// applies over another's claim or over a final.
	Applied bool
	Record  Record // what stands there now
}

// Notice is why an Await ended without error.
type Notice struct {
	// Settled: the owner settled; Record is what it left (with the result, so
	// that no further command is needed). Not settled: the limit passed, the
	// lease was ended by command, or notices may have been lost (the connection
	// broke): claim again.
	Settled bool
	Record  Record
	// Limit: the time given to Await has passed.
	Limit bool
}

// Renewal asks for a lease to be kept up while an action runs.
type Renewal struct {
	Name string
	// Token of the owner. Without one the lease is renewed whoever owns it, as an
	// EXPIRE by name does. Coordinators always give theirs; that one can forget it,
	// and what comes of that, is shown in impl/zoo.
	Token  string
	Lease  time.Duration // each renewal's new length, from the store's time
	Every  time.Duration // pause between renewals; 0 means a third of Lease
	MaxRun time.Duration // no renewal after this; must be > 0
	// Each, if set, makes every single renewal: it calls renew, at most once, and
	// returns what that returned. Whoever wraps a Store records or holds renewals
	// with it; see Within.
	Each func(renew func() (kept bool, err error)) (bool, error)
}

// Renew makes one renewal, through Each if that is set. Keep calls it for each.
func (r Renewal) Renew(renew func() (kept bool, err error)) (bool, error) {
	if r.Each == nil {
		return renew()
	}
	return r.Each(renew)
}

// Within returns r with each renewal made through wrap, and that through the Each
// which r had before: the outer wrapper of a Store stays the outer one.
func (r Renewal) Within(wrap func(renew func() (bool, error)) (bool, error)) Renewal {
	outer := r
	r.Each = func(renew func() (bool, error)) (bool, error) {
		return outer.Renew(func() (bool, error) { return wrap(renew) })
	}
	return r
}

// Store has the atomic operations of a reservation. Implementations are safe
// for concurrent use. Every error wraps ErrUnavailable or is the context's.
type Store interface {
	// Claim is one round trip: claimed, or the record.
	Claim(ctx context.Context, c Claim) (Claimed, error)
	// Settle completes (To: Done), releases (Free) or marks unknown, and tells
	// the registered waiters in the same atomic step.
	Settle(ctx context.Context, s Settlement) (Settled, error)
	// Await blocks until the awaited record is settled, the limit passes, or the
	// context ends. It sends no command. It uses the ticket up.
	Await(ctx context.Context, t Ticket, limit time.Duration) (Notice, error)
	// Keep renews the lease in the background, by the store's own means, until
	// stop is called (which waits for the renewal to end), the claim is lost or
	// MaxRun has passed: then the returned context is cancelled with cause
	// ErrLeaseLost or ErrRunTooLong.
	Keep(ctx context.Context, r Renewal) (kept context.Context, stop func())
}

// KV is the plain commands that naive code uses. A ttl of 0 means no expiry.
type KV interface {
	Get(ctx context.Context, name string) (value []byte, found bool, err error)
	Set(ctx context.Context, name string, value []byte, ttl time.Duration) error
	SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error)
	Expire(ctx context.Context, name string, ttl time.Duration) error
	Delete(ctx context.Context, name string) error
}

// Inspector lists the records under this store's prefix, of Store and KV alike.
// A KV value is listed as Done, unless it is a JSON object with a string member
// "state", which is then its State. Values are never changed by inspecting.
type Inspector interface {
	Records(ctx context.Context) ([]Record, error)
}

// Controller changes what time would change, by command, for everything under
// this store's prefix. Each returns how many records it changed.
type Controller interface {
	// EndLeases ends the lease of every Pending and Unknown record and nudges
	// its waiters to claim again, as the lease's own end would. A pending KV
	// value is deleted, as its ttl would.
	EndLeases(ctx context.Context) (int, error)
	// SetExpiry gives every Done record d until its retention ends; 0 ends it.
	SetExpiry(ctx context.Context, d time.Duration) (int, error)
	// Purge deletes everything under the prefix, and nothing else.
	Purge(ctx context.Context) (int, error)
}
