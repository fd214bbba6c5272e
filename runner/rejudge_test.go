package runner_test

import (
	"testing"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
)

// charged is a history of one client that is charged as often as ids says.
func charged(ids ...string) *history.History {
	h := &history.History{Header: history.Header{Schema: history.Schema, Scenario: "odd", Target: "odd"}}
	add := func(e history.Event) {
		e.Seq, e.At = len(h.Events)+1, time.Duration(len(h.Events))*time.Millisecond
		h.Events = append(h.Events, e)
	}
	add(history.Event{Kind: history.Send, Attempt: 1, Client: "A", Operation: "charge", Key: "k", Ref: "r1", Amount: 100, Fingerprint: "f"})
	for i, id := range ids {
		add(history.Event{Kind: history.Arrive, Call: i + 1, Attempt: 1, Ref: "r1", Effect: "charge", Amount: 100})
		add(history.Event{Kind: history.Commit, Call: i + 1, Attempt: 1, Ref: "r1", Effect: "charge", Amount: 100, Charge: id})
		add(history.Event{Kind: history.Reply, Call: i + 1, Attempt: 1, Ref: "r1", Charge: id})
	}
	add(history.Event{Kind: history.Answer, Attempt: 1, Client: "A", Operation: "charge", Key: "k", Ref: "r1", Answer: history.OK, Charge: ids[0], Amount: 100})
	add(history.Event{Kind: history.Settled})
	return h
}

// TestJudgeHistoryOfNobodyKnown: of what no catalogue knows, everything is
// expected to hold.
func TestJudgeHistoryOfNobodyKnown(t *testing.T) {
	for _, tt := range []struct {
		ids     []string
		verdict string
		as      bool
	}{{[]string{"ch_1"}, "held", true}, {[]string{"ch_1", "ch_2"}, "violated", false}} {
		got := runner.JudgeHistory(charged(tt.ids...), scenarios.Scenario{Name: "odd"}, impl.Entry{Name: "odd"})
		if got.Verdict != tt.verdict || got.AsExpected != tt.as || len(got.Charges) != len(tt.ids) {
			t.Errorf("%v: %s, as expected %v, %d charges", tt.ids, got.Verdict, got.AsExpected, len(got.Charges))
		}
	}
}

// TestRejudgeKeepsWhatOnlyThePlayerKnew: a script that was not played to its end
// proves nothing, however clean its history is; what is violated stays so.
func TestRejudgeKeepsWhatOnlyThePlayerKnew(t *testing.T) {
	for _, tt := range []struct {
		ids     []string
		seen    int
		verdict string
	}{{[]string{"ch_1"}, 1, "held"}, {[]string{"ch_1"}, 0, "inconclusive"}, {[]string{"ch_1", "ch_2"}, 0, "violated"}} {
		h := charged(tt.ids...)
		saved := runner.JudgeHistory(h, scenarios.Scenario{Name: "odd"}, impl.Entry{Name: "odd"})
		saved.Controls = []results.Control{{Name: "finished", Seen: tt.seen, Min: 1}}
		if got := runner.Rejudge(saved, h); got.Verdict != tt.verdict {
			t.Errorf("%v, finished %d: %s, want %s", tt.ids, tt.seen, got.Verdict, tt.verdict)
		}
	}
}

// TestRejudgeLeavesTheRest: a cell that could not run has no verdict to have
// again.
func TestRejudgeLeavesTheRest(t *testing.T) {
	saved := results.Cell{Scenario: "odd", Target: "odd", Status: results.CouldNotRun, Why: "no disk"}
	if got := runner.Rejudge(saved, charged("ch_1")); got.Status != results.CouldNotRun || len(got.Findings) > 0 {
		t.Errorf("got %+v", got)
	}
}
