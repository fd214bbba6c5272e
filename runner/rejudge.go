package runner

import (
	"slices"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/scenarios"
)

// Rejudge has a saved cell's history judged again: what happened, the controls
// and the findings are taken from the history, the expectations are kept as they
// were saved. An invariant that the saved cell does not know has none. A cell
// that was not judged is returned as it is.
func Rejudge(saved results.Cell, h *history.History) results.Cell {
	if saved.Status != results.Judged {
		return saved
	}
	cell := saved
	cell.Attempts, cell.Charges = []results.Attempt{}, []results.Charge{}
	cell.Controls, cell.Findings = []results.Control{}, []results.Finding{}
	fill(&cell, h)
	for _, c := range check.Controls(h) {
		cell.Controls = append(cell.Controls, results.Control{Name: c.Name, Seen: c.Seen, Min: c.Min})
	}
	late := false // only whoever played the script knows
	for _, c := range saved.Controls {
		if c.Name == finished {
			cell.Controls = append(cell.Controls, c)
			late = c.Seen < c.Min
		}
	}
	for _, f := range check.Judge(h) {
		got := results.Finding{Invariant: f.Invariant, Verdict: string(f.Verdict), Because: f.Because, Events: f.Events}
		before := savedFinding(saved, f.Invariant)
		got.Expected, got.Accepted = before.Expected, before.Accepted
		if late && f.Verdict == check.Held {
			got.Verdict, got.Because = string(check.Inconclusive), before.Because
		}
		cell.Findings = append(cell.Findings, got)
	}
	results.Conclude(&cell)
	return cell
}

func savedFinding(c results.Cell, invariant string) results.Finding {
	i := slices.IndexFunc(c.Findings, func(f results.Finding) bool { return f.Invariant == invariant })
	if i < 0 {
		return results.Finding{Expected: results.ExpectNone}
	}
	return c.Findings[i]
}

// JudgeHistory makes a cell of a history alone, with what a run would expect of e
// in s; e without lacks is expected to keep everything.
func JudgeHistory(h *history.History, s scenarios.Scenario, e impl.Entry) results.Cell {
	cell := results.Cell{Scenario: s.Name, Title: s.Title, Target: e.Name, AtLeastOnce: s.AtLeastOnce,
		Attempts: []results.Attempt{}, Charges: []results.Charge{}, Findings: []results.Finding{}, Controls: []results.Control{}}
	fill(&cell, h)
	declared := reservation.Config{StoreDown: reservation.Policy(h.Header.Policy)}
	judge(&cell, h, pair{scenario: s, entry: e}, met(s, declared), nil)
	return cell
}
