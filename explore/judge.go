package explore

import (
	"fmt"
	"strings"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// judge judges the schedule that has just ended, unless one that ended the same way
// has been judged already.
func (s *search) judge(w *world) (violating bool) {
	h := w.hash(false)
	findings, known := s.judged[h]
	if !known {
		if text := w.outcome(); !s.seen[text] {
			s.seen[text] = true
			s.result.Outcomes = append(s.result.Outcomes, text)
		}
		findings, _ = s.replay(s.chosen)
		s.judged[h] = findings
	}
	for _, f := range findings {
		if f.Verdict != check.Violated {
			continue
		}
		violating = true
		if !s.found[f.Invariant] {
			s.found[f.Invariant] = true
			chosen := append([]Choice(nil), s.chosen...)
			_, steps := s.replay(chosen)
			s.result.Found = append(s.result.Found, Violation{Invariant: f.Invariant, Because: f.Because, Schedule: steps, choices: chosen})
		}
	}
	return violating
}

// replay runs a schedule again with everything recorded.
func (s *search) replay(chosen []Choice) ([]check.Finding, []Step) {
	w, h := record(s.cfg, chosen)
	return check.Judge(h), w.steps
}

// record runs a schedule and takes its history. What is chosen is affordable: the
// budget does not matter.
func record(cfg *Config, chosen []Choice) (*world, *history.History) {
	w, rec := recorded(cfg)
	defer w.bury()
	for _, c := range chosen {
		w.take(c)
	}
	rec.Record(history.Event{Kind: history.Settled})
	return w, rec.History()
}

// recorded is a world of which everything is recorded.
func recorded(cfg *Config) (*world, *history.Recorder) {
	w := &world{cfg: cfg, left: budget{free, free, free, free}, current: -1}
	w.rec = history.NewRecorder(header(cfg), virtual{w})
	w.populate()
	return w, w.rec
}

func header(cfg *Config) history.Header {
	c := cfg.Coordinator
	return history.Header{Schema: history.Schema, Scenario: "explore", Target: cfg.Entry.Name, Policy: string(cfg.policy()),
		LeaseMS: c.Lease.Milliseconds(), RetentionMS: c.Retention.Milliseconds(), HonoursKeys: cfg.HonoursKeys,
		Inspected: true, Marker: true, Releases: true}
}

// outcome is how a schedule ended, in words: the same words, the same outcome.
func (w *world) outcome() string {
	var b strings.Builder
	for _, a := range w.actors {
		switch {
		case a.dead:
			fmt.Fprintf(&b, "%s died; ", a.name)
		default:
			r := a.answer()
			fmt.Fprintf(&b, "%s %s %s %s; ", a.name, r.Answer, r.Source, r.Charge)
		}
	}
	for i, c := range w.ledger {
		fmt.Fprintf(&b, "%s %s %d; ", c.id(i+1), c.ref, c.amount)
	}
	return strings.TrimSuffix(b.String(), "; ")
}
