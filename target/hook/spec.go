// Package hook runs the steps before and after: what has to exist before a
// service can be charged (a customer, a cart, a token), and what has to go.
//
// It refuses to interpret what it captures: a value is text, and templates use it.
package hook

import "time"

// Step is one step: an HTTP request or a command. Its texts are templates over
// Data.
type Step struct {
	Name    string            `yaml:"name,omitempty"`
	Per     string            `yaml:"per,omitempty"` // run (default) or ref: once for each logical operation
	HTTP    *HTTP             `yaml:"http,omitempty"`
	Command string            `yaml:"command,omitempty"` // run by sh -c
	Timeout time.Duration     `yaml:"timeout,omitempty"` // default: DefaultTimeout
	Capture map[string]string `yaml:"capture,omitempty"` // variable: gjson path, header:NAME, status, or "output" (all, trimmed)
}

// HTTP is a request. A path goes to the first worker.
type HTTP struct {
	Method  string            `yaml:"method,omitempty"` // default: POST with a body, else GET
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers,omitempty"`
	Body    string            `yaml:"body,omitempty"`
}

// Words of Step.Per, and how long a step may take.
const (
	PerRun         = "run"
	PerRef         = "ref"
	DefaultTimeout = 10 * time.Second
)

// Data is what the templates of a step see.
type Data struct {
	Run  string // the run's id
	Ref  string // of per: ref; else ""
	Base string // the first worker's base URL
	Vars map[string]string
}
