package check_test

import (
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// What is true of a moment and not of a later one. Each was met by exploring every
// order of the sound coordinators' steps; beside each stands what it must not excuse.
func TestWhatCameLater(t *testing.T) {
	declined := func(s *story) *story { return s.send("A").fail("A", "no-effect").say("A", "declined").at(50).send("B") }
	unanswered := func(s *story) *story { return s.run("B").arrive("B").commit("B").reply("B", failed) }
	stranger := func(e *history.Event) { e.Attempt = 0 }
	overtaken := func(s *story) *story {
		return s.send("A").claim("A", 1).charge("A").at(50).send("B").claim("B", 2).settle("A", "done", false).ok("A", "ch_1", "executed").send("C")
	}
	for _, row := range []struct {
		why, id string
		tell    func(s *story)
		want    check.Verdict
	}{
		{"declined, then charged by a retry that dies", "effect/failure-unbacked", func(s *story) { declined(s).charge("B").kill("B") }, check.Held},
		{"... by one that is told that nobody knows", "effect/failure-unbacked", func(s *story) { unanswered(declined(s)).ran("B", "unknown").say("B", "unknown") }, check.Held},
		{"... and the third is told that it was declined", "effect/failure-unbacked", func(s *story) {
			unanswered(declined(s)).ran("B", "unknown").say("B", "unknown").at(90).send("C").say("C", "declined")
		}, check.Violated},
		{"charged and unknown, then declined", "effect/failure-unbacked", func(s *story) {
			unanswered(s.send("B")).ran("B", "unknown").say("B", "unknown").at(50).send("A").fail("A", "no-effect").say("A", "declined")
		}, check.Violated},
		{"charged between the decline and its answer", "effect/failure-unbacked", func(s *story) {
			unanswered(s.send("A").fail("A", "no-effect").at(50).send("B")).ran("B", "unknown").say("A", "declined").say("B", "unknown")
		}, check.Violated},
		{"over HTTP nobody knows whose call it was: the unanswered one's", "effect/failure-unbacked", func(s *story) {
			declined(s).arrive("B", stranger).commit("B").say("B", "unknown")
		}, check.Held},
		{"... though everybody has a final answer", "effect/failure-unbacked", func(s *story) {
			s.send("A").say("A", "declined").at(50).send("B").arrive("B", stranger).commit("B").say("B", "declined")
		}, check.Violated},

		{"in progress while the one that has taken over is at work", "answer/loser", func(s *story) {
			s.h.Header.Inspected = true
			overtaken(s).say("C", "in-progress").say("B", "unknown")
		}, check.Held},
		{"... when that one is long done", "answer/loser", func(s *story) {
			s.h.Header.Inspected = true
			overtaken(s).charge("B").settle("B", "done", true).ok("B", "ch_2", "executed").at(90).send("D").say("D", "in-progress")
		}, check.Violated},
		{"... when nobody has taken over", "answer/loser", func(s *story) {
			s.h.Header.Inspected = true
			s.send("A").claim("A", 1).charge("A").settle("A", "done", true).ok("A", "ch_1", "executed").at(50).send("B").refuseClaim("B").send("C").say("C", "in-progress").say("B", "in-progress")
		}, check.Violated},

		{"declined, while the one that had taken over did not know", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").fail("A", "no-effect").send("B").say("B", "unknown").say("A", "declined").at(50).send("C").say("C", "unknown")
		}, check.Held},
		{"... and nobody else was there", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").fail("A", "no-effect").say("A", "declined").at(50).send("C").say("C", "unknown")
		}, check.Violated},
	} {
		if f := finding(t, told(row.tell), row.id); f.Verdict != row.want {
			t.Errorf("%s: %s is %s: %s", row.why, row.id, f.Verdict, f.Because)
		}
	}
}
