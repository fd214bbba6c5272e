// Package results is the run document and where it is kept: run.json beside one
// history per cell. Every report is drawn from the document, and every verdict
// can be had again from the histories.
//
// It refuses to judge and to draw. Reference runs lie in this folder.
package results

import (
	"time"
)

// Schema is the version of the document. Names stay once released; additions are fine.
const Schema = "idemrace.run/v1"

// Statuses of a cell. Only a judged cell has a verdict.
const (
	Judged        = "judged"
	NotApplicable = "not-applicable"
	CouldNotRun   = "could-not-run"
)

// Expectations of a finding or cell: a verdict, or none.
const ExpectNone = "none"

// Gates of a run. On closes on any double charge but in cells that are
// at-least-once by nature; strict closes on those too.
const (
	GateOn     = "on"
	GateStrict = "strict"
)

// Run is one run: a set of cells.
type Run struct {
	Schema      string        `json:"schema"`
	Tool        Tool          `json:"tool"`
	Seed        int64         `json:"seed"`
	Started     time.Time     `json:"started"`
	DurationMS  float64       `json:"duration_ms"`
	Interrupted bool          `json:"interrupted"`
	Gate        string        `json:"gate,omitempty"` // what the run was asked to close on: on, strict, or "" for nothing
	Store       Store         `json:"store"`
	Cells       []Cell        `json:"cells"`
	Summary     Summary       `json:"summary"`
	Config      string        `json:"config,omitempty"`            // the file that describes the services
	Observed    []Observation `json:"observed,omitempty"`          // how services answer
	Stale       []string      `json:"stale_acceptances,omitempty"` // what is wrong with the list of known findings
	LeftOut     []string      `json:"left_out,omitempty"`          // scenarios for which the budget had no time
	Selftest    *Matrix       `json:"selftest,omitempty"`          // of selftest only
}

// Tool says what made the run.
type Tool struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

// Store says which store served.
type Store struct {
	Kind    string `json:"kind"` // embedded, redis-server, container, url, memory
	Version string `json:"version"`
	Address string `json:"address"` // never with a password
}

// Cell is one scenario on one target.
type Cell struct {
	Scenario      string    `json:"scenario"`
	Title         string    `json:"title,omitempty"` // the scenario's, so that a run can be drawn alone
	Target        string    `json:"target"`
	Service       bool      `json:"service,omitempty"` // the target is an HTTP service
	Status        string    `json:"status"`
	Why           string    `json:"why,omitempty"` // not applicable, could not run
	Verdict       string    `json:"verdict,omitempty"`
	Expected      string    `json:"expected,omitempty"` // violated, held, none
	AsExpected    bool      `json:"as_expected"`
	AtLeastOnce   bool      `json:"at_least_once,omitempty"` // by nature: a plain --gate lets its double charges pass
	Attempts      []Attempt `json:"attempts"`
	Charges       []Charge  `json:"charges"`
	Findings      []Finding `json:"findings"`
	Controls      []Control `json:"controls"`
	StoreCommands int       `json:"store_commands"` // data commands that clients sent; see the README for what counts
	DurationMS    float64   `json:"duration_ms,omitempty"`
	History       string    `json:"history,omitempty"`   // path beside run.json
	Workers       []Worker  `json:"workers,omitempty"`   // of a service whose cell is not clean: what its workers printed
	SpreadMS      float64   `json:"spread_ms,omitempty"` // between the first and the last request of a burst leaving its client
	Accepted      bool      `json:"accepted,omitempty"`  // all that was found is known and accepted
}

// Worker is one of a service's.
type Worker struct {
	Name   string `json:"name"`
	Output string `json:"output"` // its end
}

// Observation is what a service was seen to do where its profile says nothing.
type Observation struct {
	Target   string `json:"target"`
	Topic    string `json:"topic"`    // in flight, reuse, missing key, …
	Seen     string `json:"seen"`     // a few words: "409, in progress"
	Scenario string `json:"scenario"` // where
}

// Attempt is one sending and its answer.
type Attempt struct {
	Client    string  `json:"client"`
	Worker    string  `json:"worker,omitempty"`
	Ref       string  `json:"ref"`
	Tenant    string  `json:"tenant,omitempty"`
	Operation string  `json:"operation,omitempty"`
	Key       string  `json:"key"`
	Amount    int64   `json:"amount,omitempty"`
	SentMS    float64 `json:"sent_ms"`
	TookMS    float64 `json:"took_ms"`
	Answer    string  `json:"answer"` // the words of package history
	Source    string  `json:"source,omitempty"`
	Charge    string  `json:"charge,omitempty"` // the one that the answer names
	Detail    string  `json:"detail,omitempty"`
	Status    int     `json:"status,omitempty"` // of an HTTP answer
}

// Charge is a line of the ledger.
type Charge struct {
	ID     string  `json:"id"`
	Ref    string  `json:"ref"`
	Effect string  `json:"effect,omitempty"`
	Amount int64   `json:"amount"`
	AtMS   float64 `json:"at_ms"`
	Voided bool    `json:"voided"`
}

// Finding is the verdict on one invariant, and what was expected of it.
type Finding struct {
	Invariant string `json:"invariant"`
	Verdict   string `json:"verdict"`
	Expected  string `json:"expected"`
	Because   string `json:"because,omitempty"`
	Accepted  string `json:"accepted,omitempty"` // why it is known and does not count
	Events    []int  `json:"events,omitempty"`
}

// Control is a positive control: how often it was seen, and how often it must be.
type Control struct {
	Name string `json:"name"`
	Seen int    `json:"seen"`
	Min  int    `json:"min"`
}

// Summary counts cells and charges.
type Summary struct {
	Cells         int `json:"cells"`
	AsExpected    int `json:"as_expected"`
	Unexpected    int `json:"unexpected"`
	Inconclusive  int `json:"inconclusive"`
	NotApplicable int `json:"not_applicable"`
	CouldNotRun   int `json:"could_not_run"`
	DoubleCharges int `json:"double_charges"` // (cell, ref, effect) with two or more standing charges
	ExcessCharges int `json:"excess_charges"` // the sum of what is over one
	// GatedDoubleCharges are those that a plain --gate closes on: not in cells
	// that are at-least-once by nature.
	GatedDoubleCharges int `json:"gated_double_charges"`
}
