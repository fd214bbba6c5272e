package explore

import (
	"fmt"
	"slices"
)

// Symmetry leaves out what differs from something else by who is who alone. That is
// sound for a coordinator that does not tell clients apart which send the same. One
// that does, by comparing tokens, or because its workers are not made alike, would be
// called sound where only what is left out shows its fault. So schedules are made
// again with the clients in other roles: the first ones, and some of the later.

// twins is how many of the first schedules have a twin made; later each so-manieth.
const twins = 64

// twinned: the schedule that has just ended is to have a twin.
func (s *search) twinned() bool {
	return !s.cfg.NoSymmetry && s.cfg.alikes() > 1 && (s.result.Runs < twins || s.result.Runs%twins == 0)
}

// alikes is how many clients send the same: the first ones.
func (c *Config) alikes() int {
	if c.Payloads {
		return c.Clients - 1
	}
	return c.Clients
}

// unalike: the schedule goes another way when alike clients change roles.
func (s *search) unalike() bool {
	n := s.cfg.alikes()
	roles, others := make([]int, s.cfg.Clients), make([]int, s.cfg.Clients)
	for i := range roles {
		roles[i], others[i] = i, i
		if i < n {
			others[i] = (i + 1 + s.result.Runs%(n-1)) % n
		}
	}
	cfg := *s.cfg
	cfg.NoSymmetry, cfg.lanes, cfg.Back, cfg.real, cfg.visitor = true, nil, nil, nil, nil
	defer cfg.free()
	return !slices.Equal(traced(&cfg, s.w.chosen, roles), traced(&cfg, s.w.chosen, others))
}

// traced makes the schedule, each client's steps made by the one that has its role:
// what each step was, and what came of each role. It ends where a step cannot be made.
func traced(cfg *Config, chosen []Choice, roles []int) (trace []string) {
	w := newWorld(cfg, nil)
	w.begin(budget{free, free, free, free, free})
	defer w.bury()
	var possible []Choice
	for _, c := range chosen {
		kind := ""
		if c.Actor >= 0 {
			c.Actor = roles[c.Actor]
			kind = fmt.Sprint(w.actors[c.Actor].op.Kind)
		}
		trace = append(trace, kind)
		if possible = w.choices(possible); w.broken != nil || !slices.Contains(possible, c) {
			return append(trace, "cannot be made")
		}
		w.take(c)
	}
	for _, i := range roles {
		r := w.actors[i].answer()
		trace = append(trace, fmt.Sprint(w.actors[i].live(), w.actors[i].dead, r.Answer, r.Source, r.Charge))
	}
	return append(trace, fmt.Sprint(len(w.ledger)))
}
