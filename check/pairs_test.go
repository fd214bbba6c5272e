package check_test

import (
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// pair is a legal history and its illegal twin, side by side, and the sentence
// that the illegal one must be charged with.
type pair struct {
	id             string
	legal, illegal func(s *story)
	because        string
}

// twoCharges is the article's first table: B is sent while A's call runs, and the
// answers agree.
func twoCharges(s *story) {
	s.at(0).send("A").run("A").arrive("A")
	s.at(50).send("B").run("B").arrive("B")
	s.at(300).commit("A").reply("A").ran("A", "ok").ok("A", "ch_1", "executed")
	s.at(350).commit("B").reply("B").ran("B", "ok").ok("B", "ch_1", "replayed").settled()
}

// oneCharge is the same race with a reservation: B waits.
func oneCharge(s *story) {
	s.at(0).send("A").claim("A", 1).run("A").arrive("A")
	s.at(50).send("B").refuseClaim("B").begin("B", "await")
	s.at(300).commit("A").reply("A").ran("A", "ok").settle("A", "done", true).ok("A", "ch_1", "executed")
	s.at(301).end("B", count(1)).ok("B", "ch_1", "waited").settled()
}

func pairs() []pair {
	return []pair{
		{"effect/at-most-once", oneCharge, twoCharges,
			`A and B were both answered ch_1, but the ledger has ch_1 (at 300 ms) and ch_2 (at 350 ms) for one ref: B's call arrived at 50 ms, while A's was still running.`},
		{"effect/silent-duplicate",
			func(s *story) { // B was too late, said so, and named its charge as an orphan
				s.at(0).send("A").charge("A").at(5).send("B").charge("B").orphan("B", "ch_2").ok("A", "ch_1", "executed").ok("B", "ch_1", "superseded")
			}, twoCharges,
			`A and B were both answered ch_1, but the ledger has ch_1 (at 300 ms) and ch_2 (at 350 ms) for one ref: B's call arrived at 50 ms, while A's was still running; the answers agree, so only the ledger shows it.`},
		{"effect/accounted",
			func(s *story) {
				s.at(0).send("A").charge("A").at(9).send("B").charge("B").void("ch_2").ok("A", "ch_1", "executed").ok("B", "ch_1", "superseded").settled()
			},
			func(s *story) { // charged, answered with an error, forgotten
				s.at(0).send("A").run("A").arrive("A").at(300).commit("A").reply("A", failed).ran("A", "error").say("A", "error").settled()
			},
			`A's call charged ch_1 at 300 ms, but when all was quiet no successful answer named it, and nobody had voided it or reported it; A was told "error".`},
		{"effect/success-backed",
			func(s *story) { s.at(0).send("A").charge("A").ok("A", "ch_1", "executed") },
			func(s *story) { // another payload gets the first one's charge
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(100).send("B", other).ok("B", "ch_1", "replayed")
			},
			`B was answered ch_1 at 100 ms, but that charge belongs to the ref "r", and B had sent "r2".`},
		{"effect/failure-unbacked",
			func(s *story) { s.at(0).send("A").fail("A", "no-effect").say("A", "declined") },
			func(s *story) { s.at(0).send("A").charge("A").at(20).say("A", "declined") },
			`A was told "declined" at 20 ms, but its own call had charged ch_1 at 0 ms.`},
		{"effect/no-overlap",
			func(s *story) { // with one provider key the provider knows that they are one
				s.at(0).send("A").arrive("A", providerKey("p")).at(50).send("B").arrive("B", providerKey("p")).at(300).commit("A").reply("A").reply("B")
			}, twoCharges,
			`B's call arrived at the provider at 50 ms, while A's, which had arrived at 0 ms, was still running, and neither carried a provider key.`},
		{"effect/unknown-stays-unknown",
			func(s *story) {
				s.at(0).send("A").run("A").arrive("A").commit("A").reply("A", failed).ran("A", "unknown").say("A", "unknown").at(90).send("B").say("B", "in-progress")
			},
			func(s *story) { // the key was freed, and the retry charged again
				s.at(0).send("A").run("A").arrive("A").commit("A").reply("A", failed).ran("A", "unknown").say("A", "unknown").at(90).send("B").charge("B").ok("B", "ch_2", "executed")
			},
			`The outcome of the ref was known to be unknown at 0 ms, yet B's call arrived at 90 ms and charged ch_2; the ledger has ch_1 (at 0 ms) and ch_2 (at 90 ms).`},
		{"provider/key-stable",
			func(s *story) {
				s.at(0).send("A").charge("A", providerKey("p1")).at(50).send("B").charge("B", providerKey("p1"))
			},
			func(s *story) {
				s.at(0).send("A").charge("A", providerKey("p1")).at(50).send("B").charge("B", providerKey("p2"))
			},
			`A's call came to the provider at 0 ms with the key "p1", B's at 50 ms with the key "p2": for the provider they are two orders.`},
		{"provider/key-distinct",
			func(s *story) {
				s.at(0).send("A").charge("A", providerKey("p1")).at(50).send("B", other, key("k2")).charge("B", providerKey("p2"))
			},
			func(s *story) {
				s.at(0).send("A").charge("A", providerKey("p1")).at(50).send("B", other, key("k2")).charge("B", providerKey("p1"))
			},
			`A's call for the ref "r" at 0 ms and B's for the ref "r2" at 50 ms carried one provider key, "p1".`},
		{"answer/replay-equal",
			func(s *story) {
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed", body(`{"charge":"ch_1"}`)).at(90).send("B").ok("B", "ch_1", "replayed", body(`{"charge":"ch_1"}`))
			},
			func(s *story) {
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed", body(`{"charge":"ch_1"}`)).at(90).send("B").ok("B", "", "replayed", body("null"))
			},
			"A was answered `{\"charge\":\"ch_1\"}` at 0 ms, but B, with the same key and the same payload, \"null\" at 90 ms."},
		{"answer/one-fresh",
			func(s *story) {
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(90).send("B").ok("B", "ch_1", "replayed")
			},
			func(s *story) {
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(90).send("B").charge("B").ok("B", "ch_2", "executed")
			},
			`A was answered ch_1 (executed) at 0 ms and B ch_2 (executed) at 90 ms: two answers for the key "k", and neither is marked as a replay.`},
		{"answer/loser",
			func(s *story) {
				s.at(0).send("A").run("A").arrive("A").at(50).send("B").say("B", "in-progress").at(300).commit("A").reply("A").ok("A", "ch_1", "executed")
			},
			func(s *story) { // an honest retry with another timestamp is refused
				s.at(0).send("A").run("A").arrive("A").at(50).send("B").say("B", "key-reused").at(300).commit("A").reply("A").ok("A", "ch_1", "executed")
			},
			`B was sent at 50 ms, while A was in flight with the same key and the same payload, and was refused as a reuse at 50 ms.`},
		{"answer/in-progress-true",
			func(s *story) {
				s.at(0).send("A").at(50).send("B").say("B", "in-progress").at(300).ok("A", "ch_1", "executed")
			},
			func(s *story) { // the claim's reply was lost, and the retry met its own claim
				s.at(0).send("A").begin("A", "claim").end("A", down).begin("A", "claim").end("A").at(30).say("A", "in-progress")
			},
			`A was told "in progress" at 30 ms, but nobody else had executed or claimed that key.`},
		{"answer/source-true",
			func(s *story) {
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(90).send("B").ok("B", "ch_1", "replayed")
			},
			func(s *story) { // no answer is fresh, so nobody counts the order
				s.at(0).send("A").charge("A").ok("A", "ch_1", "replayed").at(90).send("B").ok("B", "ch_1", "replayed")
			},
			`A was answered ch_1 as "replayed" at 0 ms, but its own call had made that charge at 0 ms.`},
		{"answer/no-foreign",
			func(s *story) {
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(50).send("B", other, under("refund")).charge("B").ok("B", "ch_2", "executed")
			},
			func(s *story) {
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(50).send("B", other, under("refund")).ok("B", "ch_1", "replayed")
			},
			`B, sent as "refund", was given ch_1 at 50 ms: that is the charge of A, sent as "pay".`},
		{"reuse/refused",
			func(s *story) {
				s.at(0).send("A").run("A").arrive("A").at(50).send("B", other).say("B", "key-reused").at(300).commit("A").reply("A").ok("A", "ch_1", "executed")
			},
			func(s *story) { // told to try later instead of refused
				s.at(0).send("A").run("A").arrive("A").at(50).send("B", other).say("B", "in-progress").at(300).commit("A").reply("A").ok("A", "ch_1", "executed")
			},
			`The key "k" belonged to A, over 100, since 0 ms, but B, who sent it at 50 ms over 5, was not refused as a reuse: B was told "in progress" at 50 ms.`},
		{"reuse/canonical",
			func(s *story) {
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(50).send("B", print("f-with-other-time")).ok("B", "ch_1", "replayed")
			},
			func(s *story) {
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(50).send("B", print("f-with-other-time")).say("B", "key-reused")
			},
			`B was refused as a reuse at 50 ms, though A had sent the same request, over 100, with that key at 0 ms.`},
		{"claim/fenced",
			func(s *story) {
				s.at(0).send("A").claim("A", 1).at(50).fault("end-leases").send("B").claim("B", 2).at(90).settle("A", "done", false)
			},
			func(s *story) {
				s.at(0).send("A").claim("A", 1).at(50).fault("end-leases").send("B").claim("B", 2).at(90).settle("A", "done", true)
			},
			`A had claimed the key at 0 ms and B had taken it over at 50 ms, yet the settlement (done) of A was applied at 90 ms.`},
		{"claim/mortal",
			func(s *story) { s.at(10).record("pending", lease(29_000)) },
			func(s *story) { s.at(10).record("pending", lease(86_400_000)) },
			`The claim on "n:k", seen at 10 ms, holds for another 24 h, and the lease is 30 s.`},
		{"claim/recovers",
			func(s *story) {
				s.at(0).send("A").claim("A", 1).at(20).kill("A").say("A", "unknown").at(40).fault("end-leases").at(60).send("B").claim("B", 2).charge("B").ok("B", "ch_1", "executed")
			},
			func(s *story) {
				s.at(0).send("A").claim("A", 1).at(20).kill("A").say("A", "unknown").at(40).fault("end-leases").at(60).send("B").say("B", "in-progress")
			},
			`B, sent at 60 ms, was told "in progress" at 60 ms, though nobody was at work any more: the last lease had been ended at 40 ms.`},
		{"record/final-is-final",
			func(s *story) {
				s.at(0).send("A").claim("A", 1).charge("A").settle("A", "done", true).at(80).send("B").refuseClaim("B").ok("B", "ch_1", "replayed")
			},
			func(s *story) { // a takeover that read "pending" long ago
				s.at(0).send("A").claim("A", 1).charge("A").settle("A", "done", true).at(80).send("B").claim("B", 2)
			},
			`A had left a final record at 0 ms, but B claimed the key anew at 80 ms.`},
		{"record/retained",
			func(s *story) { s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(60).record("done") },
			func(s *story) {
				s.at(0).send("A").charge("A").ok("A", "ch_1", "executed").at(60).record("done", ttl(30_000))
			},
			`The final record "n:k", seen at 60 ms, expires in 30 s, and the retention is 24 h.`},
		{"error/not-pinned",
			func(s *story) {
				s.h.Header.Releases = true
				s.at(0).send("A").fail("A", "error").say("A", "error").at(70).send("B").charge("B").ok("B", "ch_1", "executed")
			},
			func(s *story) {
				s.h.Header.Releases = true
				s.at(0).send("A").fail("A", "error").say("A", "error").at(70).send("B").say("B", "error")
			},
			`A was told "error" at 0 ms, nothing had been charged, but B, sent at 70 ms, was told "error" at 70 ms without any execution of its own: the failure is pinned to the key.`},
		{"scope/isolated",
			func(s *story) {
				s.at(0).send("A").begin("A", "claim").end("A").at(50).send("B", other, under("refund")).begin("B", "claim", name("refund:k")).end("B")
			},
			func(s *story) {
				s.at(0).send("A").begin("A", "claim").end("A").at(50).send("B", other, under("refund")).begin("B", "claim").end("B")
			},
			`A sent the key "k" under "pay" and B sent the key "k" under "refund", yet both are kept under one stored name, "n:k".`},
		{"key/hygiene",
			func(s *story) { s.at(0).send("A", key(" k ")).say("A", "invalid-key") },
			func(s *story) { // runs without protection, as a key too long
				s.at(0).send("A").begin("A", "get").end("A").charge("A").ok("A", "ch_1", "executed")
				s.at(50).send("B", other, key(" k ")).charge("B").ok("B", "ch_2", "executed")
			},
			`B sent the key " k " (3 characters), and it was executed at 50 ms without ever asking the store.`},
		{"store/outage-policy",
			func(s *story) {
				s.h.Header.Policy = "closed"
				s.at(0).fault("store-down").at(50).send("A").begin("A", "claim").at(60).end("A", down).say("A", "store-unavailable")
			},
			func(s *story) {
				s.h.Header.Policy = "closed"
				s.at(0).fault("store-down").at(50).send("A").begin("A", "claim").at(60).end("A", down).charge("A").ok("A", "ch_1", "unprotected")
			},
			`The policy is to fail closed, and the store did not answer A at 60 ms, yet its execution began at 60 ms.`},
		{"client/abort-safe",
			func(s *story) {
				s.at(0).send("A").run("A").arrive("A").at(50).hangUp("A").at(300).commit("A").reply("A").ran("A", "ok").at(400).send("A").ok("A", "ch_1", "replayed")
			},
			func(s *story) {
				s.at(0).send("A").run("A").arrive("A").at(50).hangUp("A").at(300).commit("A").reply("A").ran("A", "ok").at(400).send("A").charge("A").ok("A", "ch_2", "executed")
			},
			`A hung up at 50 ms; A's first attempt had no answer and A's second attempt was answered ch_2, but the ledger has ch_1 (at 300 ms) and ch_2 (at 400 ms) for one ref: the call of A's second attempt arrived at 400 ms, though the call of A's first attempt had charged at 300 ms.`},
	}
}

func TestEachInvariantTellsALegalHistoryFromItsIllegalTwin(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.id, func(t *testing.T) {
			if f := finding(t, told(p.legal), p.id); f.Verdict != check.Held {
				t.Errorf("the legal history is %s: %s", f.Verdict, f.Because)
			}
			f := finding(t, told(p.illegal), p.id)
			if f.Verdict != check.Violated {
				t.Fatalf("the illegal history is %s", f.Verdict)
			}
			if f.Because != p.because {
				t.Errorf("because\n got %s\nwant %s", f.Because, p.because)
			}
			if len(f.Events) == 0 {
				t.Error("no events are named as evidence")
			}
		})
	}
}

// A law without a pair is a law that nobody has seen fail.
func TestEachInvariantHasAPair(t *testing.T) {
	paired := map[string]bool{}
	for _, p := range pairs() {
		paired[p.id] = true
	}
	for _, inv := range check.All() {
		if !paired[inv.ID] {
			t.Errorf("%s has no pair of histories", inv.ID)
		}
		if inv.Predicate == "" || inv.Why == "" {
			t.Errorf("%s does not say what it demands, or why", inv.ID)
		}
		delete(paired, inv.ID)
	}
	for id := range paired {
		t.Errorf("%s has a pair, but is not in the catalogue", id)
	}
}

// finding returns the finding of one invariant; it must apply.
func finding(t *testing.T, h *history.History, id string) check.Finding {
	t.Helper()
	for _, f := range check.Judge(h) {
		if f.Invariant == id {
			return f
		}
	}
	t.Fatalf("%s does not apply to this history", id)
	return check.Finding{}
}
