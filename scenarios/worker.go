package scenarios

import (
	"context"
	"fmt"
)

// Kill is the step "a worker dies".
type Kill struct {
	Worker string `yaml:"worker,omitempty"`
}

func (k Kill) String() string { return "worker " + k.Worker + " dies" }

// Needs workers that can be killed.
func (k Kill) Needs() []Ability { return []Ability{KillWorkers} }

// Play kills.
func (k Kill) Play(_ context.Context, st Stage) error {
	st.Fault("worker-kill", k.Worker, 1, 0)
	return st.Kill(k.Worker)
}

// Pause is the step "a worker is stopped": a long garbage collection, a frozen
// machine. It stops before its next call, or once AfterCalls of its store calls
// have been applied: the reply is there, but not seen yet.
type Pause struct {
	Worker     string `yaml:"worker,omitempty"`
	AfterCalls int    `yaml:"after-calls,omitempty"`
}

func (p Pause) String() string {
	if p.AfterCalls > 0 {
		calls := fmt.Sprintf("%d store calls", p.AfterCalls)
		if p.AfterCalls == 1 {
			calls = "1 store call"
		}
		return fmt.Sprintf("worker %s will freeze after %s", p.Worker, calls)
	}
	return "worker " + p.Worker + " freezes"
}

// Needs workers that can be frozen; and to count store calls one must see them.
func (p Pause) Needs() []Ability {
	if p.AfterCalls > 0 {
		return []Ability{PauseWorkers, SeeStore}
	}
	return []Ability{PauseWorkers}
}

// Play pauses.
func (p Pause) Play(_ context.Context, st Stage) error {
	st.Fault("worker-pause", p.Worker, 1, 0)
	return st.Pause(p.Worker, p.AfterCalls)
}

// Resume is the step "a frozen worker goes on".
type Resume struct {
	Worker string `yaml:"worker,omitempty"`
}

func (r Resume) String() string { return "worker " + r.Worker + " goes on" }

// Needs what Pause needs.
func (r Resume) Needs() []Ability { return []Ability{PauseWorkers} }

// Play resumes.
func (r Resume) Play(_ context.Context, st Stage) error {
	st.Fault("worker-resume", r.Worker, 1, 0)
	return st.Resume(r.Worker)
}
