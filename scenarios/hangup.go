package scenarios

import "context"

// HangUp is the step "a client stops waiting for its answer".
type HangUp struct {
	Client string `yaml:"client,omitempty"`
}

func (h HangUp) String() string { return h.Client + " hangs up" }

// Needs nothing: every client can leave.
func (h HangUp) Needs() []Ability { return nil }

// Play hangs up.
func (h HangUp) Play(_ context.Context, st Stage) error { return st.HangUp(h.Client) }
