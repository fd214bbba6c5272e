// Package history records what happened in one cell: events in one order, taken
// under one lock, by wrappers around the ports; and keeps it as JSON lines.
//
// It refuses to judge (package check does, as often as one likes) and to
// disturb: a wrapper passes everything through unchanged.
package history

import "time"

// Kind is what sort of thing an event is.
type Kind string

// The kinds of events. In the comments: the fields that each one fills besides
// Seq, At and Kind.
const (
	// A client's view. Send: Attempt, Client, Worker, Tenant, Operation, Key,
	// Fingerprint, Ref, Amount. Answer: Attempt, Client, Worker, Key, Ref, Answer, Source,
	// Charge, Amount (as the answer names it), Body, Err, Status. HangUp: Attempt, Client, Key, Ref.
	Send   Kind = "send"
	Answer Kind = "answer"
	HangUp Kind = "hang-up"

	// A worker's view of its action. Run: Attempt, Worker, Ref, ProviderKey.
	// Ran: Attempt, Worker, Ref, Err, Class.
	Run Kind = "run"
	Ran Kind = "ran"

	// A port of the store, called and returned. StoreCall: Call, Op, Attempt, Worker,
	// Name, Token, Fingerprint, State (asked for), LeaseMS, TTLMS. StoreReturn: the same
	// Call, Op, Attempt, Worker, Name, Token (of the record), State, Fence,
	// Generation, Mine, Applied, Fingerprint (of the record), LeaseMS, Err, Class.
	StoreCall   Kind = "store-call"
	StoreReturn Kind = "store-return"

	// The provider's own view, exact, taken inside its lock. Arrive: Call, Attempt,
	// Ref, Effect, Amount, ProviderKey. Commit: the same and Charge. Reply: Call, Ref,
	// Charge, Err. Void: Charge, Ref.
	Arrive Kind = "provider-arrive"
	Commit Kind = "provider-commit"
	Reply  Kind = "provider-reply"
	Void   Kind = "provider-void"

	// Orphan: a coordinator reported an effect that its answer does not name.
	// Attempt, Worker, Ref, Charge.
	Orphan Kind = "orphan"

	// A disturbance made by the scenario. Op names it: store-down, store-up,
	// end-leases, set-expiry, worker-kill, worker-pause, worker-resume,
	// provider-hold, provider-release. N: how much (records changed, calls
	// released); Worker; TTLMS.
	Fault Kind = "fault"

	// RecordSeen: one record as the Inspector saw it. Name, State, Fence,
	// Generation, Token, Fingerprint, LeaseMS, TTLMS (-1: never expires).
	RecordSeen Kind = "record"

	// Settled: no provider call is open and the ledger is quiet. The history's end.
	Settled Kind = "settled"
)

// Answers that a client can get. They are the words of the run document.
const (
	OK               = "ok"
	InProgress       = "in-progress"
	KeyReused        = "key-reused"
	Declined         = "declined" // definitive: known to have had no effect
	Error            = "error"    // the action's own failure; not definitive
	OwnerFailed      = "owner-failed"
	UnknownOutcome   = "unknown" // no answer, or one that says the outcome is not known
	InvalidKey       = "invalid-key"
	StoreUnavailable = "store-unavailable"
	ResultTooLarge   = "result-too-large"
	HungUp           = "hung-up"
)

// Event is one thing that happened. It is flat so that a line of JSON can be
// read by eye and by jq; Kind says which fields count.
type Event struct {
	Seq  int           `json:"seq"` // 1-based, the one order
	At   time.Duration `json:"at_ns"`
	Kind Kind          `json:"kind"`

	Attempt int    `json:"attempt,omitempty"` // 1-based number of the attempt
	Client  string `json:"client,omitempty"`
	Worker  string `json:"worker,omitempty"`

	Tenant      string `json:"tenant,omitempty"`
	Operation   string `json:"operation,omitempty"`
	Key         string `json:"key,omitempty"`
	Ref         string `json:"ref,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Amount      int64  `json:"amount,omitempty"`

	Answer string `json:"answer,omitempty"`
	Source string `json:"source,omitempty"` // executed, replayed, waited, superseded, unprotected
	Charge string `json:"charge,omitempty"`
	Body   string `json:"body,omitempty"`
	Status int    `json:"status,omitempty"` // of an HTTP answer

	Call        int    `json:"call,omitempty"` // number of the store or provider call, pairs begin and end
	Op          string `json:"op,omitempty"`   // claim, settle, await, keep, renew, get, set, setnx, expire, delete; or the fault's name
	Name        string `json:"name,omitempty"` // stored name
	Token       string `json:"token,omitempty"`
	State       string `json:"state,omitempty"`
	Fence       int64  `json:"fence,omitempty"`
	Generation  int64  `json:"generation,omitempty"`
	Mine        bool   `json:"mine,omitempty"`
	Took        bool   `json:"took,omitempty"`
	Applied     bool   `json:"applied,omitempty"`
	LeaseMS     int64  `json:"lease_ms,omitempty"`
	TTLMS       int64  `json:"ttl_ms,omitempty"`
	ProviderKey string `json:"provider_key,omitempty"`
	Effect      string `json:"effect,omitempty"` // kind of effect: charge, refund, …
	Class       string `json:"class,omitempty"`  // ran: ok, no-effect, unknown, error; store-return: unavailable
	N           int    `json:"n,omitempty"`
	Err         string `json:"err,omitempty"`
}

// Header is the first line of a history: everything besides the events that a
// judge needs, so that a file can be judged by itself, for ever.
type Header struct {
	Schema      string    `json:"schema"` // idemrace.history/v1
	Scenario    string    `json:"scenario"`
	Target      string    `json:"target"`
	Seed        int64     `json:"seed"`
	Policy      string    `json:"policy,omitempty"` // declared: open or closed
	LeaseMS     int64     `json:"lease_ms,omitempty"`
	RetentionMS int64     `json:"retention_ms,omitempty"`
	HonoursKeys bool      `json:"provider_honours_keys,omitempty"`
	Inspected   bool      `json:"inspected,omitempty"` // the store's operations and records were recorded
	Marker      bool      `json:"marker,omitempty"`    // answers say whether they are replays
	Releases    bool      `json:"releases,omitempty"`  // policy: a transient failure frees the key
	Remote      bool      `json:"remote,omitempty"`    // an HTTP service: an error (5xx) tells its client nothing for certain
	Controls    []Control `json:"controls,omitempty"`
}

// Control is a positive control: something that must really have happened, at
// least Min times, or a clean history proves nothing. Package check counts it.
type Control struct {
	Name string `json:"name"`
	Min  int    `json:"min"`
}

// Schema is the version of the file's form.
const Schema = "idemrace.history/v1"

// History is one cell's events in order.
type History struct {
	Header Header
	Events []Event
}
