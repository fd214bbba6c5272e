package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemrace/idemrace/store"
)

var claimLaws = []law{
	{"exclusive", "of any number of concurrent claims one gets the record, and the others see it", claimExclusive},
	{"first", "a new record has fence 1 and generation 1, the claim's fingerprint and the whole lease", claimFirst},
	{"same-token", "claiming again with the same token is the same claim, so a lost reply is harmless", claimSameToken},
	{"same-token-after-lease", "as long as nobody took over, the same token gets its claim back, with the same fence", claimSameTokenLate},
	{"same-token-when-done", "a final record is nobody's, not even its writer's", claimOwnFinal},
	{"mismatch-first", "another payload is refused in every state, also where an equal one would get the record", claimMismatch},
	{"older-spelling", "a fingerprint in any of the given spellings is equal, and stays as it was written", claimOlderSpelling},
	{"takeover", "after the lease's end a claim is taken over: the fence rises, fingerprint and generation stay", claimTakeover},
	{"takeover-once", "of any number of concurrent claims after a lease's end, one takes over", claimTakeoverOnce},
	{"lease-ends-by-itself", "a lease ends by the store's own time", claimLeaseEnds},
	{"free", "a released record is claimed at once: the fence rises, fingerprint and generation stay", claimFree},
	{"unknown", "an unknown outcome is exclusive until the lease's end, against its own token too", claimUnknown},
	{"names", "names may hold any bytes, and no two of them meet", claimNames},
}

func claimExclusive(l lab) {
	if owners := l.storm("k", "a"); owners != 1 {
		l.Fatalf("%d owners", owners)
	}
	if r := l.record("k"); r.Fence != 1 {
		l.Fatalf("%d changes of owner", r.Fence)
	}
}

// storm sends 50 claims at once from two workers and counts the owners.
func (l lab) storm(name, token string) int64 {
	workers := []lab{l, l.twin()}
	var owners atomic.Int64
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range 50 {
		all.Go(func() {
			<-start
			c := claimOf(name, fmt.Sprint(token, i))
			got, err := workers[i%2].Store.Claim(l.ctx, c)
			switch {
			case err != nil:
				l.Errorf("claim: %v", err)
			case got.Mine && got.Record.Token == c.Token:
				owners.Add(1)
			case got.Mine || got.Record.State != store.Pending || got.Record.Token == c.Token:
				l.Errorf("a loser sees %+v", got)
			}
		})
	}
	close(start)
	all.Wait()
	return owners.Load()
}

func claimFirst(l lab) {
	got := l.own("k", "a")
	l.equal(got.Record, store.Record{
		Name: "k", State: store.Pending, Fingerprint: payload, Token: "a", Fence: 1, Generation: 1,
	})
	if got.Took || got.Ticket != 0 {
		l.Fatalf("nobody was there before: %+v", got)
	}
	if left := got.Record.LeaseLeft; left <= lease/2 || left > lease {
		l.Fatalf("lease left: %v of %v", left, lease)
	}
}

func claimSameToken(l lab) {
	first := l.own("k", "a")
	again := l.twin().own("k", "a")
	l.equal(again.Record, first.Record)
	if again.Took {
		l.Fatal("took over from itself")
	}
}

func claimSameTokenLate(l lab) {
	first := l.own("k", "a")
	l.endLeases()
	again := l.own("k", "a")
	l.equal(again.Record, first.Record)
	if again.Took || again.Record.LeaseLeft <= 0 {
		l.Fatalf("want the same claim with a new lease: %+v", again)
	}
}

func claimOwnFinal(l lab) {
	l.own("k", "a")
	final := l.applied(finalOf("k", "a", "ch_1"))
	got := l.claim(claimOf("k", "a"))
	if got.Mine {
		l.Fatal("a final record was claimed")
	}
	l.equal(got.Record, final)
}

func claimMismatch(l lab) {
	states := map[string]func(name string){
		"pending":         func(n string) { l.own(n, "a") },
		"after its lease": func(n string) { l.own(n, "a"); l.endLeases() },
		"done":            func(n string) { l.own(n, "a"); l.applied(finalOf(n, "a", "ch_1")) },
		"free":            func(n string) { l.own(n, "a"); l.applied(freeOf(n, "a", "declined")) },
		"unknown":         func(n string) { l.own(n, "a"); l.applied(unknownOf(n, "a", "cut")) },
		"unknown, lease ended": func(n string) {
			l.own(n, "a")
			l.applied(unknownOf(n, "a", "cut"))
			l.endLeases()
		},
		"taken over": func(n string) { l.own(n, "z"); l.endLeases(); l.own(n, "a") },
	}
	for name, make := range states {
		make(name)
		before := l.record(name)
		for _, token := range []string{"b", "a"} { // a token does not excuse a mismatch
			c := claimOf(name, token)
			c.Fingerprint, c.Fingerprints, c.Wait = other, []string{other}, true
			got := l.claim(c)
			if got.Mine || got.Ticket != 0 {
				l.Fatalf("%s: another payload got %+v", name, got)
			}
			if got.Record.Fingerprint != payload {
				l.Fatalf("%s: the stored fingerprint is not shown: %+v", name, got.Record)
			}
			l.equal(l.record(name), before)
		}
	}
}

func claimOlderSpelling(l lab) {
	old := claimOf("k", "a")
	old.Fingerprint, old.Fingerprints = older, []string{older}
	if !l.claim(old).Mine {
		l.Fatal("not claimed")
	}
	l.endLeases()
	if got := l.own("k", "b"); got.Record.Fingerprint != older {
		l.Fatalf("the fingerprint was written anew: %+v", got.Record)
	}
}

func claimTakeover(l lab) {
	first := l.own("k", "a")
	if n := l.endLeases(); n != 1 {
		l.Fatalf("%d leases ended", n)
	}
	got := l.twin().own("k", "b")
	want := first.Record
	want.Token, want.Fence = "b", 2
	l.equal(got.Record, want)
	if !got.Took {
		l.Fatal("it is not said that it was taken over")
	}
	if late := l.claim(claimOf("k", "a")); late.Mine || late.Record.Token != "b" {
		l.Fatalf("the former owner got it back: %+v", late)
	}
}

func claimTakeoverOnce(l lab) {
	for round := range 5 {
		l.own("k", fmt.Sprint("owner", round))
		l.endLeases()
		if owners := l.storm("k", fmt.Sprint("r", round, "-")); owners != 1 {
			l.Fatalf("round %d: %d owners", round, owners)
		}
		if r := l.record("k"); r.Fence != int64(2*round+2) {
			l.Fatalf("round %d: fence %d", round, r.Fence)
		}
		l.endLeases()
	}
}

func claimLeaseEnds(l lab) {
	c := claimOf("k", "a")
	c.Lease = time.Millisecond
	if !l.claim(c).Mine {
		l.Fatal("not claimed")
	}
	var got store.Claimed
	l.until("the lease ends", func() bool {
		got = l.claim(claimOf("k", "b"))
		return got.Mine
	})
	if !got.Took || got.Record.Fence != 2 {
		l.Fatalf("want a takeover: %+v", got)
	}
}

func claimFree(l lab) {
	first := l.own("k", "a")
	l.applied(freeOf("k", "a", "declined"))
	got := l.own("k", "b")
	want := first.Record
	want.Token, want.Fence = "b", 2
	l.equal(got.Record, want) // and the former failure is forgotten
	if got.Took {
		l.Fatal("nobody had it: it was not taken over")
	}
}

func claimUnknown(l lab) {
	l.own("k", "a")
	l.applied(unknownOf("k", "a", "reply lost"))
	for _, token := range []string{"b", "a"} {
		c := claimOf("k", token)
		c.Wait = true
		got := l.claim(c)
		if got.Mine || got.Record.State != store.Unknown || got.Record.LeaseLeft <= 0 {
			l.Fatalf("%s got %+v", token, got)
		}
		if got.Ticket != 0 {
			l.Fatal("nobody is running, so there is nothing to wait for")
		}
	}
	l.endLeases()
	got := l.own("k", "b")
	if !got.Took || got.Record.Fence != 2 || got.Record.Generation != 1 || got.Record.Failure != "" {
		l.Fatalf("want a takeover with the generation kept: %+v", got)
	}
}

func claimNames(l lab) {
	names := []string{
		"plain", "Plain", "plain ", " plain", "a:b", "a", "b", "a\nb", "a\r\nb", "3:abc,", "*", "?", "[a]", `\`, `\*`,
		"{a}", "{b}", "{}a", "\x00", "\x00\x00", "\xff\xfe", "ключ", "inbox:x", "%7B", "'", `"`, "--", "ARGV[1]",
	}
	for i, name := range names {
		got := l.own(name, fmt.Sprint("t", i))
		if got.Record.Fence != 1 || got.Record.Name != name {
			l.Fatalf("%q met another name: %+v", name, got.Record)
		}
	}
	seen := l.records()
	if len(seen) != len(names) {
		l.Fatalf("%d records under %d names", len(seen), len(names))
	}
	for i, name := range names {
		if r := l.record(name); r.Token != fmt.Sprint("t", i) {
			l.Fatalf("under %q lies %+v", name, r)
		}
	}
}
