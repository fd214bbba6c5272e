package scenarios

import "context"

// Kill is the step "a worker dies".
type Kill struct{ Worker string }

func (k Kill) String() string { return "worker " + k.Worker + " dies" }

// Needs workers that can be killed.
func (k Kill) Needs() []Ability { return []Ability{KillWorkers} }

// Play kills.
func (k Kill) Play(_ context.Context, st Stage) error {
	st.Fault("worker-kill", k.Worker, 1, 0)
	return st.Kill(k.Worker)
}
