package report

import (
	"fmt"
	"time"

	"github.com/idemrace/idemrace/results"
)

// exampleRun holds one of everything that a run can hold.
func exampleRun() results.Run {
	cells := []results.Cell{
		inFlight("cache", "violated", "violated", true, two(), ok("A", "ch_1"), ok("B", "ch_1")),
		inFlight("wait", "held", "held", true, two()[:1], ok("A", "ch_1"), ok("B", "ch_1")),
		inFlight("raise", "held", "held", true, two()[:1], ok("A", "ch_1"), said("B", "in-progress")),
		burst("cache", 20), burst("raise", 1),
		overrun(), unclearCell(), unexpectedCell(), untooth(), strange(),
		{Scenario: "restart", Title: "the store restarts", Target: "wait", Status: results.NotApplicable, Why: "the store is not ours to restart"},
		{Scenario: "restart", Title: "the store restarts", Target: "http", Status: results.CouldNotRun, Why: "dial tcp 127.0.0.1:1: connection refused", DurationMS: 3},
		{Scenario: "key-reuse", Title: "same key, amount 5", Target: "wait", Status: results.Judged, Verdict: "held", Expected: "held", AsExpected: true,
			Attempts: []results.Attempt{ok("A", "ch_1"), said("B", "key-reused"), said("C", "store-unavailable"), said("D", "result-too-large")}, Charges: two()[:1]},
		{Scenario: "scope", Title: "one key under two operations", Target: "wait", Status: results.Judged, Verdict: "held", Expected: "held", AsExpected: true,
			Attempts: []results.Attempt{ok("A", "ch_1"), ok("B", "ch_2")},
			Charges:  []results.Charge{{ID: "ch_1", Ref: "r1"}, {ID: "ch_2", Ref: "r2"}, {ID: "ch_3", Ref: "r2", Voided: true}, {ID: "ch_4", Ref: "r2", Effect: "refund"}}},
		{Scenario: "redis-down-closed", Title: "the store is down, policy: fail closed", Target: "fenced", Status: results.Judged, Verdict: "held", Expected: "held", AsExpected: true,
			Attempts: []results.Attempt{said("A", "store-unavailable")}},
	}
	return results.Run{
		Schema: results.Schema, Tool: results.Tool{Version: "v0.1.0", Go: "go1.26"}, Seed: 42, DurationMS: 1234.5,
		Selftest: exampleMatrix(),
		Started:  time.Date(2026, 12, 1, 3, 4, 5, 0, time.UTC),
		Store:    results.Store{Kind: "redis-server", Version: "7.0.15", Address: "127.0.0.1:40001"},
		Cells:    cells, Summary: results.Summarise(cells),
	}
}

func two() []results.Charge {
	return []results.Charge{{ID: "ch_1", Ref: "r1", Amount: 100, AtMS: 300.2}, {ID: "ch_2", Ref: "r1", Amount: 100, AtMS: 351}}
}

func ok(client, charge string) results.Attempt {
	return results.Attempt{Client: client, Ref: "r1", Key: "k", TookMS: 301.2, Answer: "ok", Source: "executed", Charge: charge}
}

func said(client, answer string) results.Attempt {
	return results.Attempt{Client: client, Ref: "r1", Key: "k", SentMS: 50, TookMS: 1.2, Answer: answer}
}

func inFlight(target, verdict, expected string, asExpected bool, charges []results.Charge, attempts ...results.Attempt) results.Cell {
	c := results.Cell{
		Scenario: "in-flight", Title: "first attempt still running (provider 300 ms), retry after 50 ms", Target: target,
		Status: results.Judged, Verdict: verdict, Expected: expected, AsExpected: asExpected,
		Attempts: attempts, Charges: charges, StoreCommands: 4, DurationMS: 352,
		Controls: []results.Control{{Name: "overlap", Seen: 1, Min: 1}},
		Findings: []results.Finding{{Invariant: "effect/at-most-once", Verdict: verdict, Expected: expected, Events: []int{3, 9}}},
	}
	if verdict == "violated" {
		c.Findings[0].Because = "Ref r1 was charged twice, ch_1 at 300 ms and ch_2 at 351 ms."
		c.Findings = append(c.Findings, results.Finding{Invariant: "effect/silent-duplicate", Verdict: verdict, Expected: expected,
			Because: "A and B were both told ch_1, and ch_2 stands beside it: no answer shows the second charge."})
	}
	return c
}

// burst is twenty clients; how many of them charged says n.
func burst(target string, n int) results.Cell {
	c := results.Cell{Scenario: "burst", Title: "20 clients, one key, at once", Target: target, Status: results.Judged,
		Verdict: "held", Expected: "held", AsExpected: true, DurationMS: 80}
	for i := 1; i <= 20; i++ {
		client := fmt.Sprintf("C%d", 21-i) // the last client came first
		if i <= n {
			id := fmt.Sprintf("ch_%d", i)
			c.Attempts = append(c.Attempts, ok(client, id))
			c.Charges = append(c.Charges, results.Charge{ID: id, Ref: "r1"})
		} else {
			c.Attempts = append(c.Attempts, said(client, "in-progress"))
		}
	}
	if n > 1 {
		c.Verdict, c.Expected = "violated", "violated"
		c.Findings = []results.Finding{{Invariant: "effect/at-most-once", Verdict: "violated", Expected: "violated", Because: "Ref r1 was charged 20 times."}}
	}
	return c
}

func overrun() results.Cell {
	return results.Cell{Scenario: "lease-overrun", Title: "the provider outlasts the lease", Target: "wait", Status: results.Judged,
		Verdict: "violated", Expected: "violated", AsExpected: true, AtLeastOnce: true,
		Attempts: []results.Attempt{ok("A", "ch_2"), ok("B", "ch_2")}, Charges: two(),
		Findings: []results.Finding{
			{Invariant: "effect/at-most-once", Verdict: "violated", Expected: "violated", Because: "The lease ended before the call did."},
			{Invariant: "effect/silent-duplicate", Verdict: "violated", Expected: "none", Because: "Both were told ch_2."}}}
}

func unclearCell() results.Cell {
	return results.Cell{Scenario: "lease-overrun", Title: "the provider outlasts the lease", Target: "raise", Status: results.Judged,
		Verdict: "inconclusive", Expected: "violated", Attempts: []results.Attempt{ok("A", "ch_1")}, Charges: two()[:1],
		Controls: []results.Control{{Name: "provider-call", Seen: 2, Min: 2}, {Name: "overlap", Seen: 0, Min: 1}},
		Findings: []results.Finding{{Invariant: "effect/at-most-once", Verdict: "inconclusive", Expected: "violated"}}}
}

func unexpectedCell() results.Cell {
	return results.Cell{Scenario: "key-length", Title: "odd keys", Target: "wait", Status: results.Judged, Verdict: "violated", Expected: "held",
		Attempts: []results.Attempt{said("A", "invalid-key"), said("B", "unknown")},
		Findings: []results.Finding{
			{Invariant: "key/hygiene", Verdict: "violated", Expected: "held", Because: "A key of 255 characters was refused."},
			{Invariant: "answer/loser", Verdict: "violated", Expected: "held", Because: "B got no answer."}}}
}

// untooth is a cell whose violation was not caught.
func untooth() results.Cell {
	c := inFlight("cache", "held", "violated", false, two()[:1], ok("A", "ch_1"), ok("B", "ch_1"))
	c.Scenario, c.Title = "in-flight-again", "the race that must be caught"
	return c
}

// strange holds what a drawing could trip over.
func strange() results.Cell {
	return results.Cell{Scenario: "in-flight", Target: "my|svc `x` <b>&\x00\x1b[31m\u202e", Status: results.Judged, Verdict: "violated", Expected: "held",
		Attempts: []results.Attempt{{Client: "A", Answer: "ok", Charge: "ch_1\n|x"}, {Client: "B", Answer: "error", Detail: "bad \xff ]]> 支払いは二度"}},
		Charges:  []results.Charge{{ID: "ch_1\n|x", Ref: "r"}},
		Findings: []results.Finding{{Invariant: "answer/no-foreign", Verdict: "violated", Expected: "held",
			Because: "redis://u:hunter2@h/ said \x07\xff ]]> <script> | `" + `and a-word-that-is-much-longer-than-any-line-of-a-narrow-terminal-could-ever-be 支払いは二度行われました支払いは二度行われました`}}}
}

// exampleMatrix has a cell of each kind, and every kind of shortfall.
func exampleMatrix() *results.Matrix {
	caught := func(scenario string) results.MatrixCell {
		return results.MatrixCell{Lacked: true, Scenario: scenario, Scenarios: 2}
	}
	m := &results.Matrix{
		Invariants: []string{"effect/at-most-once", "effect/silent-duplicate", "effect/no-overlap", "answer/loser", "reuse/refused", "key/hygiene"},
		Rows: []results.MatrixRow{
			{Target: "cache", Caught: map[string]results.MatrixCell{"effect/at-most-once": caught("in-flight"), "effect/silent-duplicate": caught("in-flight"), "effect/no-overlap": caught("burst")}},
			{Target: "wait", Caught: map[string]results.MatrixCell{"effect/at-most-once": caught("lease-overrun"), "answer/loser": {Lacked: true}, "key/hygiene": {Scenario: "key-length", Scenarios: 1}}},
			{Target: "fenced"},
		},
		Recall:    results.Figure{Have: 4, Of: 5},
		Missed:    []results.Missed{{Target: "wait", Invariant: "answer/loser", Stress: "overlap"}},
		Precision: results.Figure{Have: 1999, Of: 2000},
		False: []results.FalseAlarm{
			{Target: "wait", Scenario: "key-length", Invariant: "key/hygiene", Verdict: "violated", Because: "A key of 255 characters was \u202erefused\x1b[2J."},
			{Target: "raise", Scenario: "lease-overrun", Verdict: "inconclusive"},
		},
	}
	return m
}
