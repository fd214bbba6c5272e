package check_test

import (
	"fmt"
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// A law that cries wolf is worse than none: these histories are right in every
// respect, however odd they look.
func TestNothingIsChargedWithALegalHistory(t *testing.T) {
	for _, row := range []struct {
		why  string
		tell func(s *story)
	}{
		{"nothing happened", func(s *story) {}},
		{"waited for the owner", oneCharge},
		{"a superseded owner hands its charge over as an orphan, and it is voided", func(s *story) {
			s.at(0).send("A").claim("A", 1).run("A").arrive("A", providerKey("p"))
			s.at(50).fault("end-leases").send("B").claim("B", 2).run("B").arrive("B", providerKey("p"))
			s.at(90).commit("B").reply("B").ran("B", "ok").settle("B", "done", true).ok("B", "ch_1", "executed")
			s.at(99).commit("A").reply("A").ran("A", "ok").settle("A", "done", false).orphan("A", "ch_2").ok("A", "ch_1", "superseded")
			s.void("ch_2").settled().record("done")
		}},
		{"unknown outcome: a new attempt takes over with the same provider key, and the provider replays", func(s *story) {
			s.at(0).send("A").claim("A", 1).run("A").arrive("A", providerKey("p")).commit("A").reply("A", failed).ran("A", "unknown").settle("A", "unknown", true).say("A", "unknown")
			s.at(20).send("B").refuseClaim("B").say("B", "in-progress")
			s.at(40).fault("end-leases").send("C").claim("C", 2).run("C").arrive("C", providerKey("p")).reply("C").ran("C", "ok").settle("C", "done", true).ok("C", "ch_1", "executed").settled()
		}},
		{"a heartbeat finds that the claim is another's", func(s *story) {
			s.at(0).send("A").claim("A", 1).run("A").arrive("A", providerKey("p"))
			s.at(30).begin("A", "renew").end("A", func(e *history.Event) { e.Applied = true })
			s.at(50).fault("end-leases").send("B").claim("B", 2).begin("A", "renew").end("A")
			s.at(60).say("A", "unknown").say("B", "in-progress")
		}},
		{"twenty duplicates are told: in progress", func(s *story) {
			s.at(0).send("A").claim("A", 1).run("A").arrive("A")
			for i := range 20 {
				c := fmt.Sprintf("B%d", i)
				s.at(i).send(c).refuseClaim(c).say(c, "in-progress")
			}
			s.at(300).commit("A").reply("A").ran("A", "ok").settle("A", "done", true).ok("A", "ch_1", "executed").settled()
		}},
		{"retention was ended by command: the key has another life, with another charge and answer", func(s *story) {
			s.at(0).send("A").claim("A", 1).charge("A", providerKey("p")).settle("A", "done", true).ok("A", "ch_1", "executed")
			s.at(50).fault("set-expiry")
			s.at(90).send("A").claim("A", 1).charge("A", providerKey("p")).settle("A", "done", true).ok("A", "ch_2", "executed").settled()
		}},
		{"retention was set to 100 ms, and ended", func(s *story) {
			s.at(0).send("A").claim("A", 1).charge("A").settle("A", "done", true).ok("A", "ch_1", "executed")
			s.at(50).fault("set-expiry", ttl(100))
			s.at(400).send("A").claim("A", 1).charge("A").settle("A", "done", true).ok("A", "ch_2", "executed").record("done", ttl(90)).settled()
		}},
		{"the second life began with another payload", func(s *story) {
			s.at(0).send("A").claim("A", 1).charge("A", providerKey("p")).settle("A", "done", true).ok("A", "ch_1", "executed")
			s.at(50).fault("set-expiry")
			s.at(90).send("B", other).claim("B", 1).charge("B", providerKey("p")).settle("B", "done", true).ok("B", "ch_2", "executed")
		}},
		{"failed without effect, then done: the generation rises, and the provider key with it", func(s *story) {
			s.h.Header.Releases = true
			s.at(0).send("A").claim("A", 1).run("A").arrive("A", providerKey("p1")).reply("A", failed).ran("A", "no-effect").settle("A", "free", true).say("A", "error")
			s.at(50).send("A").begin("A", "claim").end("A", mine(2), func(e *history.Event) { e.Generation = 2 })
			s.charge("A", providerKey("p2")).settle("A", "done", true).ok("A", "ch_1", "executed").settled()
		}},
		{"those who waited share the owner's failure, and a later retry succeeds", func(s *story) {
			s.h.Header.Releases = true
			s.at(0).send("A").claim("A", 1).run("A").arrive("A")
			s.at(10).send("B").refuseClaim("B").begin("B", "await")
			s.at(50).reply("A", failed).ran("A", "error").settle("A", "free", true).say("A", "error").end("B", count(1)).say("B", "owner-failed")
			s.at(90).send("B").claim("B", 2).charge("B").settle("B", "done", true).ok("B", "ch_1", "executed").settled()
		}},
		{"a reused key is refused, before, while and after", func(s *story) {
			s.at(0).send("A").claim("A", 1).run("A").arrive("A").send("B", other).refuseClaim("B").say("B", "key-reused")
			s.at(50).commit("A").reply("A").ran("A", "ok").settle("A", "done", true).ok("A", "ch_1", "executed").send("B", other).refuseClaim("B").say("B", "key-reused").settled()
		}},
		{"another payload may have the key of one that failed without effect", func(s *story) {
			s.at(0).send("A").claim("A", 1).fail("A", "no-effect").settle("A", "free", true).say("A", "declined")
			s.at(50).send("B", other).claim("B", 2).charge("B").settle("B", "done", true).ok("B", "ch_1", "executed")
		}},
		{"the owner's worker is killed: a retry waits for the lease's end, then charges with the same provider key", func(s *story) {
			s.at(0).send("A").claim("A", 1).run("A").arrive("A", providerKey("p")).at(9).kill("A").say("A", "unknown")
			s.at(20).send("B").refuseClaim("B").say("B", "in-progress").at(30).commit("A").reply("A", failed)
			s.at(40).fault("end-leases").at(50).send("B").claim("B", 2).run("B").arrive("B", providerKey("p")).reply("B").ran("B", "ok").settle("B", "done", true).ok("B", "ch_1", "executed").settled()
		}},
		{"fail open: nothing but a mark is lost", func(s *story) {
			s.h.Header.Policy = "open"
			s.at(0).fault("store-down").send("A").begin("A", "claim").end("A", down).charge("A").begin("A", "settle", to("done")).end("A", down).ok("A", "ch_1", "unprotected").settled()
		}},
		{"fail closed: refused while down, done afterwards", func(s *story) {
			s.h.Header.Policy = "closed"
			s.at(0).fault("store-down").send("A").begin("A", "claim").end("A", down).say("A", "store-unavailable").at(50).fault("store-up")
			s.at(90).send("A").claim("A", 1).charge("A").settle("A", "done", true).ok("A", "ch_1", "executed").settled()
		}},
		{"fail closed: the first reply was lost, the same claim was made again", func(s *story) {
			s.h.Header.Policy = "closed"
			s.at(0).fault("store-lose-reply").send("A").begin("A", "claim").end("A", down).claim("A", 1).charge("A").settle("A", "done", true).ok("A", "ch_1", "executed").settled()
		}},
		{"a success that could not be stored: the retry is told to wait, as the claim is left in place", func(s *story) {
			s.at(0).send("A").claim("A", 1).charge("A").begin("A", "settle", to("done")).end("A", down).ok("A", "ch_1", "executed").at(50).send("B").refuseClaim("B").say("B", "in-progress").settled()
		}},
		{"settlements cross: the late one was called before the new claim had returned", func(s *story) {
			s.at(0).send("A").claim("A", 1).begin("A", "settle", to("done")).fault("end-leases").send("B").begin("B", "claim").end("B", mine(2)).end("A", func(e *history.Event) { e.Applied = true })
		}},
		{"the new owner gave the claim back before the former one's result came", func(s *story) {
			s.at(0).send("A").claim("A", 1).fault("end-leases").send("B").claim("B", 2).settle("B", "free", true).settle("A", "done", true)
		}},
		{"plain commands: the lock's lease ended, nobody took over, the owner stores late", func(s *story) {
			s.at(0).send("A").plain("A", "setnx", "pending", 30_000).fault("end-leases").charge("A").plain("A", "set", "done", 86_400_000).ok("A", "ch_1", "executed").settled()
		}},
		{"plain commands: both the first and the second lease ended", func(s *story) {
			s.at(0).send("A").plain("A", "setnx", "pending", 30_000).fault("end-leases").send("B").plain("B", "setnx", "pending", 30_000).fault("end-leases").plain("A", "delete", "", 0)
		}},
		{"one key under two operations", func(s *story) {
			s.at(0).send("A").begin("A", "claim").end("A", mine(1)).charge("A", providerKey("p1")).ok("A", "ch_1", "executed")
			s.at(50).send("B", other, under("refund")).begin("B", "claim", name("refund")).end("B", mine(1)).charge("B", providerKey("p2")).ok("B", "ch_2", "executed").settled()
		}},
		{"odd keys, protected", func(s *story) {
			s.at(0).send("A", key("ключ {1}")).claim("A", 1).charge("A").settle("A", "done", true).ok("A", "ch_1", "executed").at(50).send("B", key("ключ {1}")).refuseClaim("B").ok("B", "ch_1", "replayed").settled()
		}},
		{"a client hangs up and nobody comes back", func(s *story) {
			s.at(0).send("A").claim("A", 1).run("A").arrive("A").at(50).hangUp("A").say("A", "hung-up").at(300).commit("A").reply("A").ran("A", "ok").settle("A", "done", true).settled()
		}},
		{"a superseded owner without a final yet is told: in progress", func(s *story) {
			s.at(0).send("A").claim("A", 1).run("A").arrive("A", providerKey("p")).fault("end-leases").send("B").claim("B", 2).run("B").arrive("B", providerKey("p"))
			s.at(50).commit("A").reply("A").ran("A", "ok").settle("A", "done", false).orphan("A", "ch_1").say("A", "in-progress")
			s.at(90).reply("B").ran("B", "ok").settle("B", "done", true).ok("B", "ch_1", "executed").settled()
		}},
		{"a result too large is remembered as done", func(s *story) {
			s.at(0).send("A").claim("A", 1).charge("A").settle("A", "done", true).ok("A", "ch_1", "executed").at(50).send("B").refuseClaim("B").say("B", "result-too-large").settled()
		}},
		{"the new owner gave the claim back while the former one's result was under way", func(s *story) {
			s.at(0).send("A").claim("A", 1).fault("end-leases").send("B").claim("B", 2).begin("A", "settle", to("done")).settle("B", "free", true).end("A", func(e *history.Event) { e.Applied = true })
		}},
		{"plain commands: the second claim had run out by itself", func(s *story) {
			s.at(0).send("A").plain("A", "setnx", "pending", 300).at(400).send("B").plain("B", "setnx", "pending", 300).at(800).plain("A", "delete", "", 0)
		}},
		{"the leases ended before the worker died: it may have claimed again", func(s *story) {
			s.at(0).send("A").claim("A", 1).fault("end-leases").at(9).kill("A").say("A", "unknown").send("B").refuseClaim("B").say("B", "in-progress")
		}},
		{"the former owner's claim returns after the new one's", func(s *story) {
			s.at(0).send("A").begin("A", "claim").fault("end-leases").send("B").claim("B", 2).end("A", mine(1)).settle("B", "done", true)
		}},
		{"declined in a second life", func(s *story) {
			s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").fault("set-expiry").send("B").fail("B", "no-effect").say("B", "declined")
		}},
		{"another provider key in a second life", func(s *story) {
			s.at(0).send("A").charge("A", providerKey("p1")).ok("A", "ch_1", "executed").fault("set-expiry").send("B").charge("B", providerKey("p2")).ok("B", "ch_2", "executed")
		}},
		{"another provider key after a failure, of a generation that nobody sees", func(s *story) {
			s.at(0).send("A").run("A").arrive("A", providerKey("p1")).reply("A", failed).ran("A", "no-effect").say("A", "declined").send("B").charge("B", providerKey("p2")).ok("B", "ch_1", "executed")
		}},
		{"told to wait for one who is overtaken later", func(s *story) {
			s.at(0).send("A").claim("A", 1).run("A").arrive("A", providerKey("p")).send("C").refuseClaim("C").say("C", "in-progress").fault("end-leases")
			s.send("B").claim("B", 2).run("B").arrive("B", providerKey("p")).commit("A").reply("A").ran("A", "ok").settle("A", "done", false).say("A", "in-progress").reply("B").ran("B", "ok").settle("B", "done", true).ok("B", "ch_1", "executed")
		}},
		{"over HTTP, with the store down, a mismatch cannot be known", func(s *story) {
			s.h.Header.Inspected = false
			s.at(0).send("A").charge("A").ok("A", "ch_1", "").fault("store-down").send("B", other).say("B", "in-progress")
		}},
		{"plain commands: a claim on an expired key crosses the late result", func(s *story) {
			s.at(0).send("A").plain("A", "setnx", "pending", 30_000).fault("end-leases").send("B").begin("B", "setnx", to("pending"), ttl(30_000)).plain("A", "set", "done", 86_400_000).end("B", func(e *history.Event) { e.Applied = true })
		}},
		{"a record of an unknown version is unavailable, outage or not", func(s *story) {
			s.h.Header.Policy = "closed"
			s.at(0).send("A").refuseClaim("A").say("A", "store-unavailable").fault("store-down")
		}},
		{"whether retention had ended is a matter of milliseconds", func(s *story) {
			s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(50).fault("set-expiry", ttl(300)).at(300).send("B").charge("B").ok("B", "ch_2", "executed")
		}},
		{"an HTTP target: no store to be seen, no attempt known to the provider", func(s *story) {
			s.h.Header.Inspected = false
			s.at(0).send("A").arrive("A", nobodys).commit("A").at(50).send("B").say("B", "in-progress").reply("A").ok("A", "ch_1", "").settled()
		}},
		{"an HTTP target that renews its lease while the client is long gone", func(s *story) {
			s.h.Header.Inspected, s.h.Header.LeaseMS = false, 500
			s.at(0).send("A").arrive("A", nobodys).at(50).hangUp("A").say("A", "hung-up").at(900).send("A").say("A", "in-progress").at(2000).commit("A").reply("A").settled()
		}},
		{"an HTTP target: whose charge it is nobody knows, but one client knows that it does not know", func(s *story) {
			s.h.Header.Inspected = false
			s.at(0).send("A").send("B").arrive("A", nobodys).commit("A").hangUp("A").say("A", "hung-up").say("B", "in-progress").settled()
		}},
		{"an HTTP target whose store is down while a finished key is sent again", func(s *story) {
			s.h.Header.Inspected = false
			s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").fault("store-down").at(50).send("B").say("B", "in-progress")
		}},
	} {
		for _, f := range check.Judge(told(row.tell)) {
			if f.Verdict != check.Held {
				t.Errorf("%s: %s is %s: %s", row.why, f.Invariant, f.Verdict, f.Because)
			}
		}
	}
}

// These break a law, but not the one that they look like.
func TestALawIsNotBlamedForAnother(t *testing.T) {
	for _, row := range []struct {
		why, id string
		tell    func(s *story)
	}{
		{"two charges, but the answers name both", "effect/silent-duplicate", func(s *story) {
			s.send("A").charge("A").ok("A", "ch_1", "executed").send("B").charge("B").ok("B", "ch_2", "executed")
		}},
		{"both charges were made before anybody knew that he did not know", "effect/unknown-stays-unknown", func(s *story) {
			s.send("A").run("A").arrive("A").send("B").run("B").arrive("B").commit("A").commit("B").reply("A", failed).ran("A", "unknown").say("A", "unknown")
		}},
		{"a worker that was killed knew nothing", "effect/unknown-stays-unknown", func(s *story) {
			s.send("A").run("A").arrive("A").commit("A").kill("A").say("A", "unknown").send("B").charge("B").ok("B", "ch_2", "executed")
		}},
		{"fail open runs again, though the result is kept", "record/retained", func(s *story) {
			s.send("A").claim("A", 1).charge("A").settle("A", "done", true).ok("A", "ch_1", "executed").fault("store-down")
			s.send("B").begin("B", "claim").end("B", down).charge("B").ok("B", "ch_2", "unprotected")
		}},
	} {
		if f := finding(t, told(row.tell), row.id); f.Verdict != check.Held {
			t.Errorf("%s: %s is %s: %s", row.why, row.id, f.Verdict, f.Because)
		}
	}
}

// Each way to break a law that the pairs do not show.
func TestEachWayToBreakALaw(t *testing.T) {
	for _, row := range []struct {
		why, id string
		tell    func(s *story)
	}{
		{"after the lease, a takeover charges again", "effect/at-most-once", func(s *story) {
			s.at(0).send("A").claim("A", 1).run("A").arrive("A").at(50).fault("end-leases").send("B").claim("B", 2).charge("B").ok("B", "ch_1", "executed").at(90).commit("A").reply("A").ok("A", "ch_2", "executed")
		}},
		{"two lives of a key, and two charges in the second", "effect/at-most-once", func(s *story) {
			s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").fault("set-expiry").send("B").charge("B").ok("B", "ch_2", "executed").send("C").charge("C").ok("C", "ch_2", "executed")
		}},
		{"the end of retention is no excuse for calls that had begun before", "effect/at-most-once", func(s *story) {
			s.at(0).send("A").arrive("A").send("B").arrive("B").commit("A").fault("set-expiry").commit("B")
		}},
		{"the client left, so nobody was told of the first charge", "effect/silent-duplicate", func(s *story) {
			s.at(0).send("A").arrive("A").at(50).hangUp("A").send("A").charge("A").ok("A", "ch_1", "executed").commit("A")
		}},
		{"no such charge", "effect/success-backed", func(s *story) { s.send("A").ok("A", "ch_9", "executed") }},
		{"a success without a charge", "effect/success-backed", func(s *story) { s.send("A").ok("A", "", "executed") }},
		{"another amount", "effect/success-backed", func(s *story) {
			s.send("A", amount(5)).arrive("A", amount(100)).commit("A").ok("A", "ch_1", "executed")
		}},
		{"a voided charge", "effect/success-backed", func(s *story) { s.send("A").charge("A").void("ch_1").ok("A", "ch_1", "executed") }},
		{"told before it was charged", "effect/success-backed", func(s *story) { s.send("A").arrive("A").ok("A", "ch_1", "executed").commit("A") }},
		{"the last word is a failure", "effect/failure-unbacked", func(s *story) {
			s.send("A").charge("A").ok("A", "ch_1", "executed").send("B").say("B", "declined")
		}},
		{"declined while the unknown charge stands", "effect/unknown-stays-unknown", func(s *story) {
			s.send("A").run("A").arrive("A").commit("A").reply("A", failed).ran("A", "unknown").say("A", "unknown").send("B").say("B", "declined")
		}},
		{"one call with a key, one without", "effect/no-overlap", func(s *story) {
			s.send("A").arrive("A", providerKey("p")).send("B").arrive("B").reply("A").reply("B")
		}},
		{"generations are known, and the key differs within one", "provider/key-stable", func(s *story) {
			s.send("A").claim("A", 1).run("A").arrive("A", providerKey("p1")).reply("A", failed).ran("A", "unknown").send("B").claim("B", 2).run("B").arrive("B", providerKey("p2"))
		}},
		{"a third caller gets the result in the end, the loser another charge", "answer/loser", func(s *story) {
			s.send("A").arrive("A").send("B").arrive("B").commit("A").ok("A", "ch_1", "executed").commit("B").ok("B", "ch_2", "executed")
		}},
		{"a failure out of nowhere", "answer/loser", func(s *story) {
			s.send("A").run("A").arrive("A").send("B").say("B", "owner-failed").commit("A").reply("A").ran("A", "ok").ok("A", "ch_1", "executed")
		}},
		{"a finished key is in progress for ever", "answer/loser", func(s *story) {
			s.send("A").charge("A").ok("A", "ch_1", "executed").at(50).send("B").say("B", "in-progress")
		}},
		{"a finished key is in progress for ever", "answer/in-progress-true", func(s *story) {
			s.send("A").charge("A").ok("A", "ch_1", "executed").at(50).send("B").say("B", "in-progress")
		}},
		{"a finished key is in progress for ever", "claim/recovers", func(s *story) {
			s.send("A").charge("A").ok("A", "ch_1", "executed").at(50).send("B").say("B", "in-progress")
		}},
		{"the lease of a dead owner has run out by itself", "claim/recovers", func(s *story) {
			s.h.Header.LeaseMS = 500
			s.at(0).send("A").claim("A", 1).at(9).kill("A").say("A", "unknown").at(800).send("B").say("B", "in-progress")
		}},
		{"a fingerprint of another operation is shown", "answer/no-foreign", func(s *story) {
			s.send("A", print("v1:0123456789abcdef")).send("B", other, under("refund")).ok("B", "ch_2", "executed", body("reused: v1:0123456789abcdef"))
		}},
		{"another payload is executed while the first runs", "reuse/refused", func(s *story) {
			s.send("A").run("A").arrive("A").send("B", other).run("B").arrive("B").commit("A").ok("A", "ch_1", "executed").commit("B").ok("B", "ch_2", "executed")
		}},
		{"another payload, sent before the first was executed, has a success of its own, and nobody saw it run", "reuse/refused", func(s *story) {
			s.send("A").send("B", other).run("A").ok("B", "", "executed").charge("A").ok("A", "ch_1", "executed")
		}},
		{"another payload is executed after a takeover was possible", "reuse/refused", func(s *story) {
			s.send("A").claim("A", 1).run("A").arrive("A").kill("A").say("A", "unknown").at(50).fault("end-leases").send("B", other).claim("B", 2).charge("B").ok("B", "ch_1", "executed")
		}},
		{"equal in the named fields, yet refused", "reuse/canonical", func(s *story) {
			s.send("A").charge("A").ok("A", "ch_1", "executed").send("B", ref("r-b")).say("B", "key-reused")
		}},
		{"a late failure deletes another's claim", "claim/fenced", func(s *story) {
			s.send("A").plain("A", "setnx", "pending", 30_000).fault("end-leases").send("B").plain("B", "setnx", "pending", 30_000).plain("A", "delete", "", 0)
		}},
		{"a late result replaces another's", "claim/fenced", func(s *story) {
			s.send("A").plain("A", "setnx", "pending", 30_000).fault("end-leases").send("B").plain("B", "setnx", "pending", 30_000).plain("B", "set", "done", 0).plain("A", "set", "done", 0)
		}},
		{"a heartbeat renews whoever's claim it is", "claim/fenced", func(s *story) {
			s.send("A").plain("A", "setnx", "pending", 30_000).fault("end-leases").send("B").plain("B", "setnx", "pending", 30_000).plain("A", "expire", "", 30_000)
		}},
		{"a heartbeat without an owner", "claim/fenced", func(s *story) {
			s.send("A").claim("A", 1).fault("end-leases").send("B").claim("B", 2)
			s.begin("A", "renew").end("A", func(e *history.Event) { e.Applied = true })
		}},
		{"a settlement under a borrowed token", "claim/fenced", func(s *story) {
			s.send("A").claim("A", 1).fault("end-leases").send("B").claim("B", 2)
			s.begin("A", "settle", to("free"), token("tB")).end("A", func(e *history.Event) { e.Applied = true })
		}},
		{"never expires", "claim/mortal", func(s *story) { s.record("pending", lease(30_000), ttl(-1)) }},
		{"a plain claim held for the retention", "claim/mortal", func(s *story) { s.record("pending", token(""), fence(0)) }},
		{"a plain claim taken for the retention", "claim/mortal", func(s *story) { s.send("A").plain("A", "setnx", "pending", 86_400_000) }},
		{"a plain claim without an expiry, and its owner dies", "claim/mortal", func(s *story) { s.send("A").plain("A", "setnx", "pending", 0).kill("A").fault("end-leases") }},
		{"a plain claim without an expiry, and only a command ends it", "claim/mortal", func(s *story) {
			s.send("A").plain("A", "setnx", "pending", 0).fault("end-leases").plain("A", "set", "done", 0)
		}},
		{"a lease asked for in milliseconds, given in seconds", "claim/mortal", func(s *story) {
			s.send("A").begin("A", "claim", lease(30_000_000)).end("A", mine(1))
		}},
		{"a final is deleted", "record/final-is-final", func(s *story) {
			s.send("A").plain("A", "set", "done", 0).send("B").plain("B", "delete", "", 0)
		}},
		{"a final is replaced by another's", "record/final-is-final", func(s *story) {
			s.send("A").plain("A", "set", "done", 0).send("B").plain("B", "set", "pending", 0)
		}},
		{"a final is settled again", "record/final-is-final", func(s *story) {
			s.send("A").claim("A", 1).settle("A", "done", true).send("B").settle("B", "free", true)
		}},
		{"a final is seen as pending", "record/final-is-final", func(s *story) { s.send("A").claim("A", 1).settle("A", "done", true).record("pending") }},
		{"stored for the lease's length", "record/retained", func(s *story) {
			s.send("A").plain("A", "set", "done", 30_000).ok("A", "ch_1", "executed")
		}},
		{"executed again after a stored success", "record/retained", func(s *story) {
			s.send("A").charge("A").ok("A", "ch_1", "executed").at(50).send("B").charge("B").ok("B", "ch_2", "executed")
		}},
		{"still in progress, though freed", "error/not-pinned", func(s *story) {
			s.h.Header.Releases = true
			s.send("A").fail("A", "error").say("A", "error").send("B").say("B", "in-progress")
		}},
		{"refused for another operation's payload", "scope/isolated", func(s *story) {
			s.send("A").charge("A").ok("A", "ch_1", "executed").send("B", other, under("refund")).say("B", "key-reused")
		}},
		{"names run together", "scope/isolated", func(s *story) {
			s.send("A", under("a"), key("b:c")).charge("A").ok("A", "ch_1", "executed").send("B", other, under("a:b"), key("c")).say("B", "key-reused")
		}},
		{"two keys cut to one", "key/hygiene", func(s *story) {
			s.send("A", key("k-long-1")).charge("A").ok("A", "ch_1", "executed").send("B", other, key("k-long-2")).ok("B", "ch_1", "replayed")
		}},
		{"an over-long key is charged twice", "key/hygiene", func(s *story) {
			s.h.Header.Inspected = false
			long := fmt.Sprintf("%0300d", 1)
			s.send("A", key(long)).charge("A").ok("A", "ch_1", "executed").send("B", key(long)).charge("B").ok("B", "ch_2", "executed")
		}},
		{"fail closed, yet answered from memory", "store/outage-policy", func(s *story) {
			s.h.Header.Policy = "closed"
			s.fault("store-down").send("A").begin("A", "claim").end("A", down).ok("A", "ch_1", "replayed")
		}},
		{"fail open, yet refused", "store/outage-policy", func(s *story) {
			s.h.Header.Policy = "open"
			s.fault("store-down").send("A").begin("A", "claim").end("A", down).say("A", "store-unavailable")
		}},
		{"fail open, yet a bare error", "store/outage-policy", func(s *story) {
			s.h.Header.Policy = "open"
			s.fault("store-down").send("A").begin("A", "claim").end("A", down).say("A", "error")
		}},
		{"fail open, yet answered from memory", "store/outage-policy", func(s *story) {
			s.h.Header.Policy = "open"
			s.fault("store-down").send("A").begin("A", "claim").end("A", down).ok("A", "ch_1", "replayed")
		}},
		{"stuck after the outage", "store/outage-policy", func(s *story) {
			s.h.Header.Policy = "closed"
			s.fault("store-down").fault("store-up").send("A").refuseClaim("A").say("A", "store-unavailable")
		}},
		{"over HTTP a reused key is executed: its ref says whose call it was", "reuse/refused", func(s *story) {
			s.h.Header.Inspected = false
			s.send("A").arrive("A", nobodys).commit("A").reply("A").ok("A", "ch_1", "").send("B", other).arrive("B", nobodys).commit("B").reply("B").say("B", "error")
		}},
		{"fail closed over HTTP, yet it ran", "store/outage-policy", func(s *story) {
			s.h.Header.Policy, s.h.Header.Inspected = "closed", false
			s.fault("store-down").send("A").arrive("A").say("A", "error").fault("store-up")
		}},
		{"the retry gets another answer", "client/abort-safe", func(s *story) {
			s.send("A").arrive("A").hangUp("A").commit("A").reply("A").send("A").say("A", "declined")
		}},
	} {
		if f := finding(t, told(row.tell), row.id); f.Verdict != check.Violated {
			t.Errorf("%s: %s is %s", row.why, row.id, f.Verdict)
		}
	}
}
