package runner

import (
	"slices"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/scenarios"
)

// Selftest says what a run of cfg tells of the harness itself: whether whatever
// is lacked was caught, and nothing else was.
func Selftest(cfg Config, run results.Run) *results.Matrix {
	t := &tally{matrix: &results.Matrix{}, shown: map[results.Missed]bool{}, rows: map[string]map[string]results.MatrixCell{}}
	for _, c := range run.Cells {
		if p, ok := find(cfg, c); ok {
			t.add(c, p, met(p.scenario, coordinatorConfig(cfg, p)))
		}
	}
	for _, e := range cfg.Targets {
		t.row(e.Name)
	}
	t.recall(func(m results.Missed) bool { return elsewhere(cfg, run, m) })
	return t.matrix
}

// elsewhere: a scenario that could show it has not been judged, because it was not
// asked for or the store cannot do it. Then nothing was missed.
func elsewhere(cfg Config, run results.Run, m results.Missed) bool {
	i := slices.IndexFunc(cfg.Targets, func(e impl.Entry) bool { return e.Name == m.Target })
	return slices.ContainsFunc(scenarios.All(), func(s scenarios.Scenario) bool {
		p := pair{scenario: s, entry: cfg.Targets[i]}
		touched := s.Lacked(p.entry.Lacks, m.Invariant, met(s, coordinatorConfig(cfg, p)))
		return slices.ContainsFunc(touched, func(l check.Lack) bool { return string(l.Stress) == m.Stress }) &&
			!slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
				return c.Scenario == s.Name && c.Target == m.Target && c.Status == results.Judged
			})
	})
}

func find(cfg Config, c results.Cell) (pair, bool) {
	for _, s := range cfg.Scenarios {
		for _, e := range cfg.Targets {
			if s.Name == c.Scenario && e.Name == c.Target {
				return pair{scenario: s, entry: e}, true
			}
		}
	}
	return pair{}, false
}

// tally collects a matrix, cell by cell.
type tally struct {
	matrix *results.Matrix
	order  []results.Missed        // what is lacked, in the order met
	shown  map[results.Missed]bool // and whether a scenario showed it
	rows   map[string]map[string]results.MatrixCell
}

func (t *tally) add(c results.Cell, p pair, met func(check.Need) bool) {
	if c.Status == results.NotApplicable {
		return
	}
	if c.Status != results.Judged || c.Verdict == string(check.Inconclusive) {
		t.matrix.False = append(t.matrix.False, results.FalseAlarm{Target: c.Target, Scenario: c.Scenario, Verdict: open(c), Because: c.Why})
		return
	}
	for _, l := range p.entry.Lacks {
		if len(p.scenario.Lacked([]check.Lack{l}, l.Invariant, met)) > 0 {
			t.due(c, l)
		}
	}
	for _, f := range c.Findings {
		bad := f.Verdict == string(check.Violated)
		lacks := p.scenario.Lacked(p.entry.Lacks, f.Invariant, met)
		t.finding(c, f, bad, lacks)
		if len(lacks) > 0 {
			continue
		}
		if f.Verdict == string(check.Inconclusive) || f.Expected == results.ExpectNone {
			continue // a control failed beside a violation; or nothing was claimed
		}
		t.matrix.Precision.Of++
		if !bad {
			t.matrix.Precision.Have++
			continue
		}
		t.matrix.False = append(t.matrix.False, results.FalseAlarm{
			Target: c.Target, Scenario: c.Scenario, Invariant: f.Invariant, Verdict: f.Verdict, Because: f.Because})
	}
}

func open(c results.Cell) string {
	if c.Status != results.Judged {
		return c.Status
	}
	return c.Verdict
}

func due(c results.Cell, l check.Lack) results.Missed {
	return results.Missed{Target: c.Target, Invariant: l.Invariant, Stress: string(l.Stress)}
}

// due notes that a lack was put to the test, whether or not the invariant applied.
func (t *tally) due(c results.Cell, l check.Lack) {
	m := due(c, l)
	if _, known := t.shown[m]; !known {
		t.order = append(t.order, m)
		t.shown[m] = false
	}
}

// finding notes what is lacked here, and whether this cell shows it.
func (t *tally) finding(c results.Cell, f results.Finding, bad bool, lacks []check.Lack) {
	for _, l := range lacks {
		m := due(c, l)
		t.shown[m] = t.shown[m] || bad
	}
	if !bad && len(lacks) == 0 {
		return
	}
	if t.rows[c.Target] == nil {
		t.rows[c.Target] = map[string]results.MatrixCell{}
	}
	cell := t.rows[c.Target][f.Invariant]
	cell.Lacked = cell.Lacked || len(lacks) > 0
	if bad {
		cell.Scenarios++
		if cell.Scenario == "" {
			cell.Scenario = c.Scenario
		}
	}
	t.rows[c.Target][f.Invariant] = cell
}

func (t *tally) row(target string) {
	t.matrix.Rows = append(t.matrix.Rows, results.MatrixRow{Target: target, Caught: t.rows[target]})
}

// recall counts what was lacked, and makes the columns in the catalogue's order.
// What may be shown elsewhere is not counted.
func (t *tally) recall(elsewhere func(results.Missed) bool) {
	for _, m := range t.order {
		switch {
		case t.shown[m]:
			t.matrix.Recall.Have++
		case elsewhere(m):
			continue
		default:
			t.matrix.Missed = append(t.matrix.Missed, m)
		}
		t.matrix.Recall.Of++
	}
	for _, inv := range check.All() {
		if slices.ContainsFunc(t.matrix.Rows, func(r results.MatrixRow) bool { _, ok := r.Caught[inv.ID]; return ok }) {
			t.matrix.Invariants = append(t.matrix.Invariants, inv.ID)
		}
	}
}
