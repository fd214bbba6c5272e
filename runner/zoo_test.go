package runner_test

import (
	"slices"
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// red is the table of docs/failure-modes.md: for each way in which implementations
// fail in the field, the least that must be violated. It is written down here and
// not taken from the catalogue, so that an entry cannot excuse itself.
var red = map[string][]string{
	"check-then-act":            {"effect/at-most-once", "effect/silent-duplicate", "effect/no-overlap"},
	"claim-overwrites":          {"effect/at-most-once", "effect/no-overlap", "answer/replay-equal"},
	"set-then-expire":           {"claim/mortal", "claim/recovers"},
	"claim-for-retention":       {"claim/mortal", "claim/recovers"},
	"seconds-for-milliseconds":  {"claim/mortal", "claim/recovers"},
	"release-without-token":     {"claim/fenced", "effect/no-overlap"},
	"complete-without-token":    {"claim/fenced", "answer/replay-equal"},
	"stale-takeover":            {"record/final-is-final", "effect/at-most-once"},
	"release-on-lost-commit":    {"effect/at-most-once"},
	"own-claim-is-a-rival":      {"answer/in-progress-true"},
	"errors-are-cached":         {"error/not-pinned"},
	"frees-the-unknown":         {"effect/unknown-stays-unknown"},
	"no-fingerprint":            {"reuse/refused", "effect/success-backed"},
	"hashes-everything":         {"reuse/canonical", "answer/loser"},
	"hashes-raw-bytes":          {"reuse/canonical"},
	"in-flight-before-mismatch": {"reuse/refused"},
	"unscoped":                  {"scope/isolated"},
	"joins-names":               {"scope/isolated"},
	"long-keys-run-free":        {"key/hygiene"},
	"truncates-keys":            {"key/hygiene"},
	"per-process-lock":          {"effect/at-most-once"},
	"per-process-store":         {"effect/at-most-once", "answer/one-fresh"},
	"waiter-runs-anyway":        {"effect/at-most-once"},
	"empty-replay":              {"answer/replay-equal"},
	"replay-is-conflict":        {"claim/recovers", "answer/loser"},
	"forgets-early":             {"record/retained"},
	"dies-with-client":          {"client/abort-safe"},
	"falls-back-to-memory":      {"store/outage-policy"},
	"swallows-outage":           {"store/outage-policy"},
	"oversize-runs-again":       {"effect/at-most-once"},
	"thundering-waiters":        {"effect/at-most-once", "effect/unknown-stays-unknown"},
	"renews-anybody":            {"claim/fenced"},
}

// fault says where a row's red is only red under the fault that the row names:
// anybody violates effect/at-most-once somewhere.
var fault = map[string][]string{
	"release-on-lost-commit": {"completion-cut"},
	"stale-takeover":         {"stale-takeover"},
	"per-process-lock":       {"two-workers"},
	"per-process-store":      {"two-workers-retry"},
	"waiter-runs-anyway":     {"waiter-gives-up"},
	"oversize-runs-again":    {"oversize-result"},
	"thundering-waiters":     {"owner-fails", "owner-unknown"},
	"frees-the-unknown":      {"unknown-outcome"},
	"dies-with-client":       {"hang-up-during", "hang-up-after"},
}

// TestSelftest is the judge judged: each member of the zoo is caught for the reason
// that its row names, everything lacked is shown, and nothing else is.
func TestSelftest(t *testing.T) {
	cfg := runner.Config{Scenarios: scenarios.Certain(), Targets: impl.All(), Backend: open(t, backend.Embedded), Seed: 1, Sleepers: 64}
	run, _ := runner.Run(t.Context(), cfg)
	m := runner.Selftest(cfg, run)
	for _, x := range m.Missed {
		t.Errorf("missed: %+v", x)
	}
	for _, x := range m.False {
		t.Errorf("false alarm: %+v", x)
	}
	if m.Recall.Of < 500 || m.Precision.Of < 20_000 {
		t.Errorf("recall of %d and precision of %d: too few to say anything", m.Recall.Of, m.Precision.Of)
	}
	for _, c := range run.Cells {
		if !c.AsExpected {
			t.Errorf("%s in %s: %s, expected %s", c.Target, c.Scenario, c.Verdict, c.Expected)
		}
	}
	for name, invariants := range red {
		for _, id := range invariants {
			if !caught(run, name, id) {
				t.Errorf("%s was not caught at %s", name, id)
			}
		}
	}
}

// caught reports whether a coordinator violated an invariant under its row's fault.
func caught(run results.Run, name, id string) bool {
	e, ok := impl.Lookup(name)
	return ok && slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		where := fault[name]
		return c.Target == e.Name && (where == nil || slices.Contains(where, c.Scenario)) &&
			slices.ContainsFunc(c.Findings, func(f results.Finding) bool {
				return f.Invariant == id && f.Verdict == string(check.Violated)
			})
	})
}

// TestRedIsTheZoo: a member without a row, or a row without a member, would be
// judged by nobody.
func TestRedIsTheZoo(t *testing.T) {
	zoo, _ := impl.Group(impl.Zoo)
	if len(zoo) != 32 || len(red) != 32 {
		t.Errorf("%d members and %d rows, want 32", len(zoo), len(red))
	}
	for name := range red {
		if e, ok := impl.Lookup(name); !ok || !slices.Contains(e.Groups, impl.Zoo) {
			t.Errorf("no member of the zoo goes by the name %s", name)
		}
	}
}

// TestEveryLackIsTouched: a lack under a stress that no scenario applies is never
// looked at. Only a store that loses what it has confirmed is out of our reach.
func TestEveryLackIsTouched(t *testing.T) {
	for _, e := range impl.All() {
		for _, l := range e.Lacks {
			touched := slices.ContainsFunc(scenarios.All(), func(s scenarios.Scenario) bool {
				met := func(n check.Need) bool {
					return n == check.NeedsDurableStore || n == check.NeedsProviderKey && s.Setting.HonoursKeys
				}
				return len(s.Lacked([]check.Lack{l}, l.Invariant, met)) > 0
			})
			if !touched && l.Unless != check.NeedsDurableStore {
				t.Errorf("%s: no scenario touches %s under %s", e.Name, l.Invariant, l.Stress)
			}
		}
	}
}

// TestSelftestTellsWhatIsWrong: a lack taken away that is there, and one added that
// is not, are both told.
func TestSelftestTellsWhatIsWrong(t *testing.T) {
	honest := entries(t, "cache")[0]
	lying := honest
	lying.Lacks = []check.Lack{{Invariant: "scope/isolated", Stress: check.NamesVary}}
	names := slices.DeleteFunc(scenarios.All(), func(s scenarios.Scenario) bool {
		return s.Name != "burst" && !slices.Contains(s.Stresses, check.NamesVary)
	})
	cfg := runner.Config{Scenarios: names, Targets: []impl.Entry{lying}, Backend: open(t, backend.Embedded), Seed: 1}
	run, _ := runner.Run(t.Context(), cfg)
	m := runner.Selftest(cfg, run)
	if m.Full() || m.Recall.Full() || m.Precision.Full() {
		t.Errorf("recall %+v, precision %+v: both must be short", m.Recall, m.Precision)
	}
	if want := (results.Missed{Target: "cache", Invariant: "scope/isolated", Stress: "names-vary"}); !slices.Contains(m.Missed, want) {
		t.Errorf("missed %+v, want %+v", m.Missed, want)
	}
	if !slices.ContainsFunc(m.False, func(f results.FalseAlarm) bool {
		return f.Scenario == "burst" && f.Invariant == "effect/at-most-once"
	}) {
		t.Errorf("false alarms %+v: the burst's double charge is missing", m.False)
	}
	cfg.Scenarios = names[:1] // another scenario could have shown it
	run, _ = runner.Run(t.Context(), cfg)
	if m := runner.Selftest(cfg, run); len(m.Missed) > 0 {
		t.Errorf("missed %+v, though not every scenario was run", m.Missed)
	}
}
