package check_test

import (
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// Answers that are safe and of no use, and marks that are not true: no ledger shows
// them.
func TestUselessAndUntrueAnswers(t *testing.T) {
	kept := func(s *story) *story {
		return s.send("A").claim("A", 1).charge("A").settle("A", "done", true).ok("A", "ch_1", "executed").at(50).send("B")
	}
	for _, row := range []struct {
		why, id string
		tell    func(s *story)
		want    check.Verdict
	}{
		{"the result is kept, and the retry is told that nobody knows", "answer/loser", func(s *story) { kept(s).say("B", "unknown") }, check.Violated},
		{"... that the store is unavailable", "answer/loser", func(s *story) { kept(s).say("B", "store-unavailable") }, check.Violated},
		{"... that the owner failed", "answer/loser", func(s *story) { kept(s).say("B", "owner-failed") }, check.Violated},
		{"... but the store had failed it", "answer/loser", func(s *story) { kept(s).begin("B", "claim").end("B", down).say("B", "store-unavailable") }, check.Held},
		{"... but its worker is dead", "answer/loser", func(s *story) { kept(s).kill("B").say("B", "unknown") }, check.Held},
		{"the first answer was not kept: nobody knows is true", "answer/loser", func(s *story) {
			s.send("A").claim("A", 1).charge("A").settle("A", "done", false).ok("A", "ch_1", "executed").at(50).send("B").say("B", "unknown")
		}, check.Held},
		{"a declined key is unavailable for ever", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").fail("A", "no-effect").say("A", "declined").at(50).send("B").say("B", "store-unavailable")
		}, check.Violated},
		{"a decline that is kept as the answer", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").fail("A", "no-effect").say("A", "declined").at(50).send("B").say("B", "declined")
		}, check.Held},
		{"executed, but by nobody", "answer/source-true", func(s *story) {
			s.send("A").charge("A").hangUp("A").at(50).send("B").ok("B", "ch_1", "executed")
		}, check.Violated},
		{"executed, by somebody of whom nobody knows for whom", "answer/source-true", func(s *story) {
			s.send("A").run("A", func(e *history.Event) { e.Attempt = 0 }).hangUp("A").at(50).send("B").ok("B", "ch_1", "executed")
		}, check.Held},
		{"unprotected, though the store served", "answer/source-true", func(s *story) {
			s.send("A").claim("A", 1).charge("A").ok("A", "ch_1", "unprotected")
		}, check.Violated},
		{"unprotected, and the store was down", "answer/source-true", func(s *story) {
			s.fault("store-down").send("A").charge("A").ok("A", "ch_1", "unprotected")
		}, check.Held},
		{"a store with a client of its own is not seen", "answer/source-true", func(s *story) {
			s.send("A").charge("A").ok("A", "ch_1", "unprotected")
		}, check.Held},
		{"it names the charge that it wants voided", "answer/source-true", func(s *story) {
			s.send("A").charge("A").orphan("A", "ch_1").ok("A", "ch_1", "executed")
		}, check.Violated},
		{"a later attempt names the charge that the overtaken one reported", "answer/source-true", func(s *story) {
			s.send("A").charge("A").orphan("A", "ch_1").say("A", "in-progress").send("B").run("B").arrive("B").reply("B").ok("B", "ch_1", "executed")
		}, check.Held},
	} {
		if f := finding(t, told(row.tell), row.id); f.Verdict != row.want {
			t.Errorf("%s: %s is %s: %s", row.why, row.id, f.Verdict, f.Because)
		}
	}
}
