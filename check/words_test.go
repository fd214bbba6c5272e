package check_test

import (
	"strings"
	"testing"

	"github.com/idemrace/idemrace/history"
)

// The sentences are projected in class: what was told alike is told once.
func TestAnswersAreGrouped(t *testing.T) {
	for _, row := range []struct {
		why, because string
		tell         func(s *story)
	}{
		{"three answers of two kinds, and why the second call came",
			`A was told "unknown", and B and C were both answered ch_2, but the ledger has ch_1 (at 0 ms) and ch_2 (at 40 ms) for one ref: B's call arrived at 40 ms, after A's worker had been killed at 9 ms.`,
			func(s *story) {
				s.send("A").arrive("A").commit("A").at(9).kill("A").say("A", "unknown").at(40).send("B").charge("B").ok("B", "ch_2", "executed").send("C").ok("C", "ch_2", "replayed")
			}},
		{"a charge that was reported",
			`A was told "in progress" and B was answered ch_2, but the ledger has ch_1 (at 50 ms) and ch_2 (at 50 ms) for one ref: B's call arrived at 50 ms, after the lease of A had ended at 9 ms; ch_1 was reported as an orphan, but not voided.`,
			func(s *story) {
				s.send("A").arrive("A").at(9).fault("end-leases").at(50).send("B").arrive("B").commit("A").commit("B").orphan("A", "ch_1").say("A", "in-progress").ok("B", "ch_2", "executed")
			}},
		{"the store was down",
			"A was answered ch_1 and B was answered ch_2, but the ledger has ch_1 (at 0 ms) and ch_2 (at 5 ms) for one ref: B's call arrived at 5 ms, while the store was down.",
			func(s *story) {
				s.fault("store-down").send("A").charge("A").ok("A", "ch_1", "unprotected").at(5).send("B").charge("B").ok("B", "ch_2", "unprotected")
			}},
		{"many clients are not all named",
			"A, B, C, D and 2 more were all answered ch_1, but the ledger has ch_1 (at 0.5 ms) and ch_2 (at 0.5 ms) for one ref: B's call arrived at 0.5 ms, though A's had charged at 0.5 ms.",
			func(s *story) {
				s.now = 500_000
				for _, c := range []string{"A", "B", "C", "D", "E", "F"} {
					s.send(c)
				}
				s.charge("A").charge("B")
				for _, c := range []string{"A", "B", "C", "D", "E", "F"} {
					s.ok(c, "ch_1", "replayed")
				}
			}},
		{"one client's own two attempts are told apart",
			"A's first attempt had no answer and A's second attempt was answered ch_2, but the ledger has ch_1 (at 0 ms) and ch_2 (at 0 ms) for one ref: the call of A's second attempt arrived at 0 ms, though the call of A's first attempt had charged at 0 ms.",
			func(s *story) { s.send("A").charge("A").send("A").charge("A").ok("A", "ch_2", "executed") }},
	} {
		if f := finding(t, told(row.tell), "effect/at-most-once"); f.Because != row.because {
			t.Errorf("%s:\n got %s\nwant %s", row.why, f.Because, row.because)
		}
	}
}

// TestReleaseWords: a lease is named only where one ended a claim.
func TestReleaseWords(t *testing.T) {
	for _, row := range []struct {
		why, because string
		tell         func(s *story)
	}{
		{"the owner was declined, and no lease had ended",
			`B, sent at 50 ms, was told "in progress" at 50 ms, though nobody was at work any more: A was told "declined" at 0 ms.`,
			func(s *story) {
				s.send("A").fail("A", "no-effect").say("A", "declined").at(50).send("B").say("B", "in-progress")
			}},
		{"the owner was killed, and its lease ended by itself",
			`B, sent at 800 ms, was told "in progress" at 800 ms, though nobody was at work any more: the last lease had run out.`,
			func(s *story) {
				s.h.Header.LeaseMS = 500
				s.at(0).send("A").claim("A", 1).at(9).kill("A").say("A", "unknown").at(800).send("B").say("B", "in-progress")
			}},
	} {
		if f := finding(t, told(row.tell), "claim/recovers"); f.Because != row.because {
			t.Errorf("%s:\n got %s\nwant %s", row.why, f.Because, row.because)
		}
	}
}

// TestSilenceWords: one success agrees with nobody.
func TestSilenceWords(t *testing.T) {
	alone := told(func(s *story) {
		s.send("A").charge("A").say("A", "error").send("B").charge("B").ok("B", "ch_2", "executed")
	})
	two := told(func(s *story) {
		s.send("A").send("B").charge("A").charge("B").ok("A", "ch_1", "executed").ok("B", "ch_1", "replayed")
	})
	for want, h := range map[string]*history.History{
		"; the only success names ch_2, so only the ledger shows it.": alone,
		"; the answers agree, so only the ledger shows it.":           two,
	} {
		if f := finding(t, h, "effect/silent-duplicate"); !strings.HasSuffix(f.Because, want) {
			t.Errorf("got %q, want it to end in %q", f.Because, want)
		}
	}
}
