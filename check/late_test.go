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

		{"in progress, after a takeover that was completed and answered", "answer/loser", func(s *story) {
			s.send("X").claim("X", 1).run("X").ran("X", "unknown").settle("X", "unknown", true).say("X", "unknown").at(50).send("A").claim("A", 2).charge("A").settle("A", "done", true).ok("A", "ch_1", "executed").at(90).send("C").say("C", "in-progress")
		}, check.Violated},
		{"... or one that is not written down, by who was overtaken himself", "answer/loser", func(s *story) {
			s.send("X").claim("X", 1).run("X").ran("X", "unknown").settle("X", "unknown", true).say("X", "unknown").at(50).send("A").claim("A", 2).charge("A").ok("A", "ch_1", "executed").at(90).send("C").say("C", "in-progress")
		}, check.Violated},
		{"... when the one that has taken over wrote it down, and its client left", "answer/loser", func(s *story) {
			overtaken(s).say("C", "in-progress").hangUp("B").settle("B", "done", true).at(90).send("D").say("D", "in-progress")
		}, check.Violated},
		{"... when that one has given the key back", "answer/loser", func(s *story) {
			overtaken(s).say("C", "in-progress").fail("B", "error").settle("B", "free", true).say("B", "error").at(90).send("D").say("D", "in-progress")
		}, check.Violated},
		{"... when that one has left the outcome unknown", "answer/loser", func(s *story) {
			overtaken(s).say("C", "in-progress").fail("B", "unknown").settle("B", "unknown", true).say("B", "unknown").at(90).send("D").say("D", "in-progress")
		}, check.Held},
		{"... when its claim's reply was lost", "answer/loser", func(s *story) {
			s.send("A").claim("A", 1).charge("A").at(50).send("B").begin("B", "claim", lease(30_000)).end("B", down).settle("A", "done", false).ok("A", "ch_1", "executed").say("B", "unavailable").send("C").say("C", "in-progress")
		}, check.Held},

		{"over HTTP an early duplicate was told to wait, the owner is declined, and charges all the same", "effect/failure-unbacked", func(s *story) {
			s.send("A").send("B").say("B", "in-progress").at(50).say("A", "declined").arrive("A", stranger).commit("A").reply("A")
		}, check.Violated},
		{"... as the duplicate may have, that has no answer yet", "effect/failure-unbacked", func(s *story) {
			s.send("A").send("B").at(50).say("A", "declined").send("C").arrive("B", stranger).commit("B").reply("B").say("C", "in-progress")
		}, check.Held},
		{"in doubt, then a retry is declined, and the first call lands", "effect/failure-unbacked", func(s *story) {
			s.send("B").run("B").ran("B", "unknown").say("B", "unknown").at(50).send("A").fail("A", "no-effect").say("A", "declined").at(60).arrive("B").commit("B").reply("B")
		}, check.Violated},
		{"... of a client that had left", "effect/failure-unbacked", func(s *story) {
			s.send("B").run("B").hangUp("B").at(50).send("A").fail("A", "no-effect").say("A", "declined").at(60).arrive("B").commit("B").reply("B").ran("B", "ok")
		}, check.Violated},
		{"... that leaves while the other is declined", "effect/failure-unbacked", func(s *story) {
			s.send("B").run("B").at(50).send("A").hangUp("B").fail("A", "no-effect").say("A", "declined").at(60).arrive("B").commit("B").reply("B").ran("B", "ok")
		}, check.Held},
		{"declined, then charged by a retry that is told of the failure again", "effect/failure-unbacked", func(s *story) {
			declined(s).charge("B").orphan("B", "ch_1").say("B", "owner-failed")
		}, check.Violated},
		{"... that is told to wait", "effect/failure-unbacked", func(s *story) {
			declined(s).charge("B").orphan("B", "ch_1").say("B", "in-progress")
		}, check.Held},

		{"declined, while the one that had taken over did not know", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").claim("A", 1).fail("A", "no-effect").send("B").claim("B", 2).settle("B", "unknown", true).say("B", "unknown").settle("A", "free", false).say("A", "declined").at(50).send("C").say("C", "unknown")
		}, check.Held},
		{"... and that one had only waited", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").claim("A", 1).send("B").refuseClaim("B").fail("A", "no-effect").settle("A", "unknown", true).say("A", "declined").say("B", "unknown").at(50).send("C").say("C", "unknown")
		}, check.Violated},
		{"... where nobody sees claims, and the lease had ended", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").fail("A", "no-effect").fault("end-leases").send("B").say("B", "unknown").say("A", "declined").at(50).send("C").say("C", "unknown")
		}, check.Held},
		{"... or its time had passed", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").fail("A", "no-effect").at(30_000).send("B").say("B", "unknown").say("A", "declined").at(30_050).send("C").say("C", "unknown")
		}, check.Held},
		{"... and it had not", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").fail("A", "no-effect").send("B").say("B", "unknown").say("A", "declined").at(50).send("C").say("C", "unknown")
		}, check.Violated},
		{"... and nobody else was there", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").fail("A", "no-effect").say("A", "declined").at(50).send("C").say("C", "unknown")
		}, check.Violated},
		{"... though two retries met each other", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").fail("A", "no-effect").say("A", "declined").at(50).send("B").send("C").say("B", "unknown").say("C", "unknown").at(90).send("D").say("D", "unknown")
		}, check.Violated},
	} {
		if f := finding(t, told(row.tell), row.id); f.Verdict != row.want {
			t.Errorf("%s: %s is %s: %s", row.why, row.id, f.Verdict, f.Because)
		}
	}
}
