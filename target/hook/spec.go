// Package hook runs the steps before and after: what has to exist before a
// service can be charged (a customer, a cart, a token), and what has to go.
//
// It refuses to interpret what it captures: a value is text, and templates use it.
// It asks as it is told: no proxy from the environment, no redirect, nothing twice.
package hook

import (
	"cmp"
	"fmt"
	"time"
)

// Step is one step: an HTTP request or a command. Its texts are templates over
// Data.
type Step struct {
	Name    string            `yaml:"name,omitempty"`
	Per     string            `yaml:"per,omitempty"` // run (default) or ref: once for each logical operation
	HTTP    *HTTP             `yaml:"http,omitempty"`
	Command string            `yaml:"command,omitempty"` // run by sh -c; what it leaves in the background ends with it
	Timeout time.Duration     `yaml:"timeout,omitempty"` // default: DefaultTimeout
	Capture map[string]string `yaml:"capture,omitempty"` // variable: gjson path, header:NAME, status, or output (all, trimmed)
}

// HTTP is a request. A path goes to the first worker, a full URL where it says. An
// answer that is not 2xx is a failure.
type HTTP struct {
	Method  string            `yaml:"method,omitempty"` // default: POST with a body, else GET
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers,omitempty"`
	Body    string            `yaml:"body,omitempty"` // without a Content-Type it is JSON if it reads as JSON
}

// Words of Step.Per, and how long a step may take.
const (
	PerRun         = "run"
	PerRef         = "ref"
	DefaultTimeout = 10 * time.Second
)

// called is how errors name the step at a place of its list.
func (s Step) called(i int) string {
	if s.Name != "" {
		return "step " + s.Name
	}
	return fmt.Sprintf("step %d", i+1)
}

func (s Step) per() string { return cmp.Or(s.Per, PerRun) }

func (s Step) timeout() time.Duration { return cmp.Or(s.Timeout, DefaultTimeout) }

// Data is what the templates of a step see.
type Data struct {
	Run  string // the run's id
	Ref  string // of per: ref; else ""
	Base string // the first worker's base URL
	Vars map[string]string
}
