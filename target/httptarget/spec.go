// Package httptarget is an HTTP service as a target: how an attempt becomes a
// request, how the answer becomes one of history's words, and how a burst leaves
// together.
//
// It refuses to know processes (package worker), effects (package effects) and
// verdicts. It follows no redirect, sends nothing twice by itself, and what it
// cannot understand it says, with what it saw.
package httptarget

import "time"

// Request says how an attempt is sent. Path, header values, body and key are
// text/template texts over Data.
type Request struct {
	Method    string            `yaml:"method,omitempty"` // default: POST
	Path      string            `yaml:"path,omitempty"`   // below the worker's base URL, with its query
	Headers   map[string]string `yaml:"headers,omitempty"`
	Body      string            `yaml:"body,omitempty"`       // default: DefaultBody
	KeyHeader string            `yaml:"key-header,omitempty"` // default: Idempotency-Key
	// Key is the form that the service demands of keys: "" sends the scenario's,
	// made unique; uuid and ulid send one for each, always the same; anything else is a
	// template that has .Key.
	Key     string        `yaml:"key,omitempty"`
	Timeout time.Duration `yaml:"timeout,omitempty"` // the client's patience; default: DefaultTimeout
	HTTP2   bool          `yaml:"http2,omitempty"`   // also without TLS
}

// Defaults of a Request.
const (
	DefaultMethod    = "POST"
	DefaultKeyHeader = "Idempotency-Key"
	DefaultBody      = `{"amount": {{.Amount}}, "currency": "EUR", "ref": {{json .Ref}}}`
	DefaultTimeout   = 15 * time.Second
)

// Data is what templates see. All of it is of this run alone, so that a service
// which has kept an earlier run's keys is not taken for a broken one.
type Data struct {
	Run       string // the run's id
	Key       string
	Ref       string
	Amount    int64 // minor units
	Operation string
	Tenant    string
	Trace     string // does not define the request: another one each time, or ""
	Client    string
	Vars      map[string]string // captured by setup steps
}

// Answer says where the answer says what. A place is a gjson path into a JSON
// body, or "header:NAME".
type Answer struct {
	Charge string `yaml:"charge,omitempty"` // the charge that a success names; default: "id"
	Amount string `yaml:"amount,omitempty"` // "": the answer does not say
	// Compare lists what of two successes for one request must be equal: charge,
	// status, body, or a place. Default: charge.
	Compare []string `yaml:"compare,omitempty"`
}

// Profile is what a service promises. What it leaves out is reported as observed,
// and no verdict. See Named for those that are known.
type Profile struct {
	Name string `yaml:"name,omitempty"` // any, ietf, stripe; the others' fields change that one's
	// InFlight are the statuses of a duplicate while the first runs. Waits: it waits
	// for the first one's answer, for WaitLimit, and is told one of them after that.
	InFlight []int `yaml:"in-flight,omitempty"`
	Waits    bool  `yaml:"waits,omitempty"`
	Reuse    []int `yaml:"reuse,omitempty"` // of a key that comes with another payload
	// Unknown marks an answer that says that the outcome is not known, whatever its
	// status: PLACE=VALUE, e.g. code=outcome_unknown.
	Unknown []string `yaml:"unknown,omitempty"`
	// MissingKey are the statuses of a request without a key; empty: it may be served.
	MissingKey []int `yaml:"missing-key,omitempty"`
	// StoreDown is open (serve unprotected), closed (refuse), or "": not said.
	StoreDown string `yaml:"store-down,omitempty"`
	// Errors says what becomes of a transient failure: cached (replayed), released
	// (a retry runs anew), or "": not said.
	Errors       string        `yaml:"errors,omitempty"`
	Lease        time.Duration `yaml:"lease,omitempty"`      // after which an orphaned claim can be taken over; 0: not said
	Retention    time.Duration `yaml:"retention,omitempty"`  // 0: not said
	WaitLimit    time.Duration `yaml:"wait-limit,omitempty"` // how long a duplicate waits for the first; 0: not said
	ReplayMarker string        `yaml:"replay-marker,omitempty"`
	Fields       []string      `yaml:"fields,omitempty"` // of the payload that define the request; default: all of the body
}

// Words of Profile.
const (
	StoreOpen      = "open"
	StoreClosed    = "closed"
	ErrorsCached   = "cached"
	ErrorsReleased = "released"
)

// TLS is for services with a certificate of their own, or that ask for one.
type TLS struct {
	CA   string `yaml:"ca,omitempty"`   // PEM file
	Cert string `yaml:"cert,omitempty"` // PEM file of the client
	Key  string `yaml:"key,omitempty"`  // PEM file of the client
}

// Tenant is what the requests of one tenant have besides: its credentials.
type Tenant struct {
	Headers map[string]string `yaml:"headers,omitempty"`
}
