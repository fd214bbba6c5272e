package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// confirmations is how often a schedule is made again before it is believed.
const confirmations = 10

// ErrPasses: the schedule does not violate its invariant.
var ErrPasses = errors.New("explore: the schedule does not violate its invariant")

// Minimise takes out of a schedule what its violation does not need: clients, faults,
// deaths, departures and ends of leases, then switches between clients, by moving
// steps that commute. What is left is replayed 10 times. The schedule must name its
// invariant, and violate it: else ErrPasses, or a *DivergedError.
//
// The context ends it early, with what is smallest by then.
func Minimise(ctx context.Context, cfg Config, s Schedule) (Schedule, error) {
	cfg, err := cfg.with(s) // once for all candidates
	if err != nil {
		return s, err
	}
	r, err := Replay(cfg, s)
	if err != nil {
		return s, err
	}
	if !r.breaks(s.Invariant) {
		return s, fmt.Errorf("%w: %s", ErrPasses, s.Invariant)
	}
	best := r.Schedule
	for ctx.Err() == nil {
		smaller, found := cfg.smaller(ctx, best)
		if !found {
			break
		}
		best = smaller
	}
	return best, cfg.confirm(best)
}

// confirm replays a schedule and expects the same each time.
func (c Config) confirm(s Schedule) error {
	var first string
	for i := range confirmations {
		r, err := Replay(c, s)
		if err != nil {
			return err
		}
		text := fmt.Sprint(r.Outcome, r.History.Events)
		if i == 0 {
			first = text
		}
		if !r.breaks(s.Invariant) || text != first {
			return fmt.Errorf("explore: replayed for the %d. time, the schedule goes another way: the coordinator depends on something besides its ports", i+1)
		}
	}
	return nil
}

// size is what a schedule should have little of; the first that differs decides.
func size(s Schedule) []int { return []int{s.Clients, s.Harms(), s.Switches(), len(s.Steps)} }

// smaller is the first candidate that still violates, and is less.
func (c Config) smaller(ctx context.Context, s Schedule) (Schedule, bool) {
	for candidate := range candidates(s) {
		if ctx.Err() != nil {
			break
		}
		r, err := c.again(candidate, lenient)
		if err == nil && r.breaks(s.Invariant) && slices.Compare(size(r.Schedule), size(s)) < 0 {
			return r.Schedule, true
		}
	}
	return s, false
}

// candidates are the schedules with something taken out or moved, the boldest first.
func candidates(s Schedule) func(yield func(Schedule) bool) {
	return func(yield func(Schedule) bool) {
		for i := s.Clients - 1; i >= 0 && s.Clients > 1; i-- {
			if !yield(s.withoutClient(i)) {
				return
			}
		}
		for i, step := range s.Steps {
			if !step.harm() {
				continue
			}
			if step.client() && !step.own() && !yield(s.with(step.whole(), i)) || !yield(s.without(i)) {
				return
			}
		}
		for i, step := range s.Steps {
			for j := range s.Steps {
				if (j < i-1 || j > i) && step.client() && !yield(s.moved(i, j)) {
					return
				}
			}
		}
	}
}

// own: the harm is a step of its own, not the way in which another goes.
func (s Step) own() bool { return s.How == Crash.String() || s.How == HangUp.String() }

// whole is the step without its harm.
func (s Step) whole() Step { return Step{Who: s.Who, What: s.What} }

func (s Schedule) with(step Step, at int) Schedule {
	s.Steps = slices.Clone(s.Steps)
	s.Steps[at] = step
	return s
}

func (s Schedule) without(at int) Schedule {
	s.Steps = slices.Delete(slices.Clone(s.Steps), at, at+1)
	return s
}

// moved has the step at i come before the one at j.
func (s Schedule) moved(i, j int) Schedule {
	step := s.Steps[i]
	rest := slices.Delete(slices.Clone(s.Steps), i, i+1)
	if j > i {
		j--
	}
	s.Steps = slices.Insert(rest, j, step)
	return s
}

// withoutClient renames those behind it, so that no letter is missing.
func (s Schedule) withoutClient(n int) Schedule {
	var steps []Step
	gone := string(rune('A' + n))
	for _, step := range s.Steps {
		switch {
		case step.Who == gone:
			continue
		case step.client() || step.What == "renew":
			step.Who = renamed(step.Who, n)
		case step.Who == provider && len(step.What) > 0:
			last := len(step.What) - 1
			if step.What[last:] == gone {
				continue
			}
			step.What = step.What[:last] + renamed(step.What[last:], n)
		}
		steps = append(steps, step)
	}
	s.Steps, s.Clients = steps, s.Clients-1
	return s
}

func renamed(name string, gone int) string {
	if len(name) == 1 && name[0] > byte('A'+gone) {
		return string(name[0] - 1)
	}
	return name
}

// Passing is a schedule that is as good as the same and passes.
type Passing struct {
	// First and Second are the two steps: in the violating schedule First came before
	// Second, here Second comes before First.
	First, Second Step
	Schedule      Schedule
}

func (p Passing) String() string {
	return fmt.Sprintf("swap these two steps and it passes: %s, %s", p.First, p.Second)
}

// NearestPassing looks for the nearest schedule that does not violate the invariant
// of s: one step is moved past the fewest others, first by one, an adjacent swap. It
// reports false if no single move helps.
func NearestPassing(ctx context.Context, cfg Config, s Schedule) (Passing, bool, error) {
	cfg, err := cfg.with(s)
	if err != nil {
		return Passing{}, false, err
	}
	if r, err := Replay(cfg, s); err != nil {
		return Passing{}, false, err
	} else if !r.breaks(s.Invariant) {
		return Passing{}, false, fmt.Errorf("%w: %s", ErrPasses, s.Invariant)
	}
	for distance := 1; distance < len(s.Steps) && ctx.Err() == nil; distance++ {
		for i := len(s.Steps) - 1 - distance; i >= 0; i-- {
			if p, ok := cfg.passing(s, i, i+distance); ok {
				return p, true, nil
			}
		}
	}
	return Passing{}, false, ctx.Err()
}

// passing moves the later of two steps before the earlier, or that behind it.
func (c Config) passing(s Schedule, i, j int) (Passing, bool) {
	first, second := s.Steps[i], s.Steps[j]
	if first.Who == second.Who || !first.client() && !second.client() {
		return Passing{}, false
	}
	for _, try := range []struct {
		to       Schedule
		moved    int
		at       int
		unmoving bool
	}{{s.moved(j, i), j, i, false}, {s.moved(i, j+1), i, j, true}} {
		who := s.Steps[try.moved].Who
		between := s.Steps[i+1 : j]
		if slices.ContainsFunc(between, func(o Step) bool { return o.Who == who }) {
			continue // a client's own steps keep their order
		}
		r, err := c.again(try.to, lenient)
		if err != nil || r.breaks(s.Invariant) || len(r.Schedule.Steps) <= try.at || r.Schedule.Steps[try.at] != s.Steps[try.moved] {
			continue
		}
		return Passing{First: first, Second: second, Schedule: r.Schedule}, true
	}
	return Passing{}, false
}
