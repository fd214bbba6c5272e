package explore

import (
	"slices"
	"strings"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// verdicts judges schedules, each way of ending once.
type verdicts struct {
	cfg    *Config
	judged map[digest][]broke // by terminal state
	texts  map[string]bool    // outcomes
	found  map[broke]bool
}

// broke is an invariant that a run violates, and whether the coordinator had said
// that it keeps it.
type broke struct {
	invariant  string
	guaranteed bool
}

func newVerdicts(cfg *Config) verdicts {
	return verdicts{cfg: cfg, judged: map[digest][]broke{}, texts: map[string]bool{}, found: map[broke]bool{}}
}

// judge judges the schedule that has just ended, unless one that ended the same way
// has been judged already.
func (v *verdicts) judge(s *search, w *world) (violating bool) {
	h := w.ending()
	broken, known := v.judged[h]
	if !known {
		if text := w.outcome(); !v.texts[text] {
			v.texts[text] = true
			s.result.Outcomes = append(s.result.Outcomes, text)
		}
		broken = v.examine(s)
		v.judged[h] = broken
		s.result.Judged++
	}
	return len(broken) > 0
}

// examine runs the schedule again with everything recorded, and keeps the first of
// each violation.
func (v *verdicts) examine(s *search) (broken []broke) {
	w, h := record(v.cfg, s.chosen)
	for _, f := range check.Judge(h) {
		if f.Verdict != check.Violated {
			continue
		}
		b := broke{f.Invariant, v.cfg.guaranteed(f.Invariant, w.seen)}
		broken = append(broken, b)
		if !v.found[b] {
			v.found[b] = true
			s.result.Found = append(s.result.Found, Violation{Invariant: f.Invariant, Guaranteed: b.guaranteed, Because: f.Because,
				Schedule: v.cfg.scheduleOf(f.Invariant, w.steps)})
		}
	}
	return broken
}

// recorded is a world of which everything is recorded. Nothing bounds it: what is
// chosen was affordable.
func recorded(cfg *Config) *world {
	w := newWorld(cfg, func(w *world) *history.Recorder { return history.NewRecorder(header(cfg), virtual{w}) })
	w.begin(budget{free, free, free, free, free})
	return w
}

// record makes the chosen schedule and takes its history.
func record(cfg *Config, chosen []Choice) (*world, *history.History) {
	w := recorded(cfg)
	defer w.bury()
	for _, c := range chosen {
		w.take(c)
	}
	w.closed()
	return w, w.rec.History()
}

func header(cfg *Config) history.Header {
	c := cfg.Coordinator
	return history.Header{Schema: history.Schema, Scenario: "explore", Target: cfg.Entry.Name, Policy: string(cfg.policy()),
		LeaseMS: c.Lease.Milliseconds(), RetentionMS: c.Retention.Milliseconds(), HonoursKeys: cfg.HonoursKeys,
		Inspected: true, Marker: true, Releases: true}
}

// outcome is how a schedule ended, in words: the same words, the same outcome.
func (w *world) outcome() string {
	var parts []string
	for _, a := range w.actors {
		switch {
		case a.dead:
			parts = append(parts, a.name+" died")
		default:
			r := a.answer()
			words := slices.DeleteFunc([]string{a.name, r.Answer, r.Source, r.Charge}, func(s string) bool { return s == "" })
			parts = append(parts, strings.Join(words, " "))
		}
	}
	for i, c := range w.ledger {
		parts = append(parts, chargeID(i+1)+" for "+c.ref)
	}
	return strings.Join(parts, "; ")
}
