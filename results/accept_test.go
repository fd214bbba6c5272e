package results

import (
	"strings"
	"testing"
	"time"
)

func day(text string) time.Time { d, _ := time.Parse(time.DateOnly, text); return d }

func TestAccept(t *testing.T) {
	known := Acceptance{Invariant: "effect/at-most-once", Scenario: "burst", Reason: "SHOP-12", Until: day("2027-01-31")}
	for _, row := range []struct {
		why      string
		verdict  string
		today    string
		status   string
		expected bool   // of the cell, afterwards
		wrong    string // what is wrong with the list
	}{
		{"shown and does not fail", violated, "2027-01-31", Judged, true, ""},
		{"expired the day after", violated, "2027-02-02", Judged, false, "was accepted until 2027-01-31"},
		{"vanished", held, "2027-01-01", Judged, true, "is not found any more"},
		{"nothing is known of what was not judged", held, "2027-01-01", CouldNotRun, true, ""},
	} {
		c := Cell{Scenario: "burst", Target: "shop", Status: row.status,
			Findings: []Finding{{Invariant: "effect/at-most-once", Verdict: row.verdict, Expected: held}},
			Charges:  []Charge{{ID: "ch_1", Ref: "r1"}, {ID: "ch_2", Ref: "r1"}}}
		Conclude(&c)
		run := Run{Cells: []Cell{c}}
		wrong := strings.Join(run.Accept([]Acceptance{known}, day(row.today)), "; ")
		if !strings.Contains(wrong, row.wrong) || (wrong == "") != (row.wrong == "") {
			t.Errorf("%s: the list: %q, want %q", row.why, wrong, row.wrong)
		}
		if got := run.Cells[0].AsExpected; row.status == Judged && got != row.expected {
			t.Errorf("%s: as expected is %v", row.why, got)
		}
		if row.wrong == "" && row.status == Judged && run.Summary.DoubleCharges != 0 {
			t.Errorf("%s: an accepted double charge is counted", row.why)
		}
	}
}

func TestAcceptLeavesTheOthers(t *testing.T) {
	c := Cell{Scenario: "burst", Target: "shop", Status: Judged, Findings: []Finding{
		{Invariant: "effect/at-most-once", Verdict: violated, Expected: held},
		{Invariant: "answer/loser", Verdict: violated, Expected: held}}}
	Conclude(&c)
	run := Run{Cells: []Cell{c}}
	run.Accept([]Acceptance{{Invariant: "effect/at-most-once", Scenario: "burst", Until: day("2099-01-01")}}, day("2027-01-01"))
	if got := run.Cells[0]; got.AsExpected || got.Accepted {
		t.Errorf("one of two findings is accepted, and the cell passes: %+v", got)
	}
}
