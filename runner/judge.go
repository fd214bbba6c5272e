package runner

import (
	"fmt"
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/results"
)

// finished is the control that every cell has besides its scenario's own: the
// script was played to its end.
const finished = "finished"

// lateError: the script was not finished in time; step says where it stood.
type lateError struct {
	step    string
	timeout time.Duration
}

func (e *lateError) Error() string {
	return fmt.Sprintf("not finished within %v: stood at %q", e.timeout, e.step)
}

// fill tells what happened, from the history alone.
func fill(cell *results.Cell, h *history.History) {
	at := map[int]int{}
	voided := map[string]bool{}
	for _, e := range h.Events {
		switch e.Kind {
		case history.Send:
			at[e.Attempt] = len(cell.Attempts)
			cell.Attempts = append(cell.Attempts, results.Attempt{Client: e.Client, Worker: e.Worker, Ref: e.Ref,
				Tenant: e.Tenant, Operation: e.Operation, Key: e.Key, Amount: e.Amount, SentMS: ms(e.At)})
		case history.Answer:
			a := &cell.Attempts[at[e.Attempt]]
			a.TookMS = ms(e.At) - a.SentMS
			a.Answer, a.Source, a.Charge, a.Detail, a.Status = e.Answer, e.Source, e.Charge, e.Err, e.Status
		case history.Commit:
			cell.Charges = append(cell.Charges, results.Charge{ID: e.Charge, Ref: e.Ref, Effect: e.Effect, Amount: e.Amount, AtMS: ms(e.At)})
		case history.Void:
			voided[e.Charge] = true
		}
	}
	for i := range cell.Charges {
		cell.Charges[i].Voided = voided[cell.Charges[i].ID]
	}
	for i := range cell.Attempts {
		if cell.Attempts[i].Answer == "" {
			cell.Attempts[i].Answer = history.UnknownOutcome
			cell.Attempts[i].Detail = "no answer by the end of the cell"
		}
	}
}

// judge adds findings, controls and the cell's own verdict. Of a script that
// was not finished nothing can be said to have held.
func judge(cell *results.Cell, h *history.History, p pair, met func(check.Need) bool, late *lateError) {
	cell.Status, cell.AsExpected = results.Judged, true
	for _, c := range check.Controls(h) {
		cell.Controls = append(cell.Controls, results.Control{Name: c.Name, Seen: c.Seen, Min: c.Min})
	}
	end := results.Control{Name: finished, Seen: 1, Min: 1}
	if late != nil {
		end.Seen = 0
	}
	cell.Controls = append(cell.Controls, end)
	for _, f := range check.Judge(h) {
		if late != nil && f.Verdict == check.Held {
			f.Verdict, f.Because = check.Inconclusive, late.Error()
		}
		want := results.ExpectNone
		if v, known := p.scenario.Expect(p.entry.Lacks, f.Invariant, met); known && p.claims(f.Invariant) {
			want = string(v)
		}
		got := results.Finding{Invariant: f.Invariant, Verdict: string(f.Verdict), Expected: want, Because: f.Because, Events: f.Events}
		cell.Findings = append(cell.Findings, got)
	}
	results.Conclude(cell)
}
