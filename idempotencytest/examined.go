package idempotencytest

import (
	"fmt"
	"strings"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/results"
)

// unexamined says why what held in a cell proves nothing about this coordinator
// through nobody's fault, "" if it does prove something. What is violated stays so.
func (x *exam) unexamined(c results.Cell) string {
	if c.Status != results.Judged {
		return ""
	}
	if endless(x.history(c)) {
		return "leases were to end while an attempt was under way, and no claim was found whose lease could be ended; " +
			`see Options.EndLeases, or keep claims as JSON with "state":"pending"`
	}
	if missed := x.missed(c); missed != "" {
		return fmt.Sprintf("it has a client of its own, and the fault did not find the command that it is aimed at (%s)", missed)
	}
	return ""
}

// endless: leases were ended by command, an attempt was under way, and there was
// nothing to end.
func endless(h *history.History) bool {
	open, killed := map[int]bool{}, map[string]bool{}
	commands, ended, atWork := 0, 0, false
	for _, e := range h.Events {
		switch {
		case e.Kind == history.Send:
			open[e.Attempt] = true
		case e.Kind == history.Answer && !killed[e.Worker]: // what the dead held is held still
			delete(open, e.Attempt)
		case e.Kind == history.Fault && e.Op == "worker-kill":
			killed[e.Worker] = true
		case e.Kind == history.Fault && e.Op == "end-leases":
			commands, ended = commands+1, ended+e.N
			atWork = atWork || len(open) > 0
		}
	}
	return commands > 0 && ended == 0 && atWork
}

// missed names the store faults that never fired, of a coordinator whose commands
// nobody can tell apart.
func (x *exam) missed(c results.Cell) string {
	var missed []string
	for _, control := range c.Controls {
		if x.entry.Unseen && control.Seen < control.Min && strings.HasPrefix(control.Name, "fault:store-") {
			missed = append(missed, control.Name)
		}
	}
	return strings.Join(missed, ", ")
}
