package explore

import (
	"errors"
	"fmt"
	"strings"
)

// Schedule is one run by labels, with all that is needed to make it again.
type Schedule struct {
	Coordinator string `json:"coordinator"`
	Clients     int    `json:"clients"`
	Payloads    bool   `json:"payloads,omitempty"`
	HonoursKeys bool   `json:"provider_honours_keys,omitempty"`
	HangUps     int    `json:"hang_ups,omitempty"`
	Seed        int64  `json:"seed,omitempty"` // of the search that found it
	Invariant   string `json:"invariant,omitempty"`
	Steps       []Step `json:"steps"`
}

// schedule is the configuration's schedule with those steps.
func (c *Config) schedule(steps []Step) Schedule {
	return Schedule{Coordinator: c.Entry.Name, Clients: c.Clients, Payloads: c.Payloads, HonoursKeys: c.HonoursKeys, HangUps: c.HangUps, Seed: c.Seed, Steps: steps}
}

func (c *Config) scheduleOf(invariant string, steps []Step) Schedule {
	s := c.schedule(steps)
	s.Invariant = invariant
	return s
}

// Switches counts how often another client goes on.
func (s Schedule) Switches() int {
	n, last := 0, ""
	for _, step := range s.Steps {
		if step.What == "start" && last == "" {
			last = step.Who
		}
		if step.client() && step.Who != last {
			n++
			last = step.Who
		}
	}
	return n
}

// client: the step is a client's own.
func (s Step) client() bool { return s.Who != "clock" && s.Who != provider && s.What != "renew" }

// Harms counts what had not to happen: faults, deaths, departures, and ends of leases.
func (s Schedule) Harms() int {
	n := 0
	for _, step := range s.Steps {
		if step.harm() {
			n++
		}
	}
	return n
}

func (s Step) harm() bool { return s.How != "" && s.How != Leave.String() || s.Who == "clock" }

// ErrUncontrollable is wrapped by every refusal of a coordinator whose steps the
// explorer cannot control.
var ErrUncontrollable = errors.New("uncontrollable")

// ErrDiverged is wrapped by every DivergedError.
var ErrDiverged = errors.New("diverged")

// DivergedError says at which step a schedule no longer fits.
type DivergedError struct {
	At       int    // index of the step, from 0
	Wanted   string // the step, or "" if the schedule ended while clients had steps to make
	Possible []Step
}

func (e *DivergedError) Error() string {
	var can []string
	for _, s := range e.Possible {
		can = append(can, s.String())
	}
	if e.Wanted == "" {
		return fmt.Sprintf("diverged: the schedule ends after %d steps, and there are still possible: %s", e.At, strings.Join(can, ", "))
	}
	if can == nil {
		return fmt.Sprintf("diverged at step %d: wanted %q, and nothing is possible any more", e.At+1, e.Wanted)
	}
	return fmt.Sprintf("diverged at step %d: wanted %q, possible are %s", e.At+1, e.Wanted, strings.Join(can, ", "))
}

func (e *DivergedError) Unwrap() error { return ErrDiverged }
