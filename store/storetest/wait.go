package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idemrace/idemrace/store"
)

var waitLaws = []law{
	{"result", "every waiter, on any worker, gets the result with the notice", waitResult},
	{"failure", "waiters that are present at a release share the failure", waitFailure},
	{"unknown", "waiters are told of an unknown outcome", waitUnknown},
	{"lease-ended", "when a lease is ended by command, waiters are told to claim again", waitNudged},
	{"nothing-missed", "nothing is lost between looking and listening, however close the settlement comes", waitRace},
	{"before-await", "a settlement between claim and await is delivered", waitEarly},
	{"right-owner", "a waiter is not told of a settlement that came before its claim", waitRightOwner},
	{"many-keys", "notices go to the waiters of their own name only", waitManyKeys},
	{"ticket", "a ticket is given for another's running claim with an equal fingerprint, and only if asked for", waitTicket},
	{"gives-up", "a waiter that gives up changes nothing, and those who stay are still told", waitGivesUp},
	{"context", "a waiter returns with its context's error", waitContext},
	{"no-ticket", "an unknown ticket is answered at once by: claim again", waitNoTicket},
}

// waiters makes n of them, on two workers, and returns what wakes them.
func (l lab) waiters(name string, n int) []<-chan store.Notice {
	workers := []lab{l, l.twin()}
	notices := make([]<-chan store.Notice, n)
	for i := range notices {
		w := workers[i%2]
		notices[i] = w.awaiting(w.wait(name, fmt.Sprint("waiter", i)))
	}
	return notices
}

func (l lab) awaiting(t store.Ticket) <-chan store.Notice {
	ch := make(chan store.Notice, 1)
	go func() {
		n, err := l.Store.Await(l.ctx, t, time.Hour)
		if err != nil {
			n = store.Notice{Record: store.Record{Failure: "await: " + err.Error()}, Limit: true}
		}
		ch <- n
	}()
	return ch
}

func waitResult(l lab) {
	l.own("k", "a")
	notices := l.waiters("k", 20)
	final := l.applied(finalOf("k", "a", "ch_\x00\xff1"))
	for _, ch := range notices {
		n := <-ch
		if !n.Settled || n.Limit {
			l.Fatalf("woken by %+v", n)
		}
		l.equal(n.Record, final)
	}
}

func waitFailure(l lab) {
	l.own("k", "a")
	notices := l.waiters("k", 4)
	free := l.applied(freeOf("k", "a", "card declined"))
	for _, ch := range notices {
		n := <-ch
		if !n.Settled {
			l.Fatalf("woken by %+v", n)
		}
		l.equal(n.Record, free)
	}
}

func waitUnknown(l lab) {
	l.own("k", "a")
	notices := l.waiters("k", 4)
	unknown := l.applied(unknownOf("k", "a", "reply lost"))
	for _, ch := range notices {
		n := <-ch
		l.equal(n.Record, unknown)
		if !n.Settled || n.Record.LeaseLeft <= 0 {
			l.Fatalf("woken by %+v", n)
		}
	}
}

func waitNudged(l lab) {
	l.own("k", "a")
	notices := l.waiters("k", 4)
	l.twin().endLeases()
	for _, ch := range notices {
		if n := <-ch; n.Settled || n.Limit {
			l.Fatalf("woken by %+v", n)
		}
	}
	if got := l.own("k", "b"); !got.Took {
		l.Fatalf("the lease had not ended: %+v", got)
	}
}

func waitRace(l lab) {
	twin := l.twin()
	for round := range 300 {
		name := fmt.Sprint("k", round)
		l.own(name, "a")
		var settled sync.WaitGroup
		settled.Go(func() {
			if _, err := l.Store.Settle(l.ctx, finalOf(name, "a", name)); err != nil {
				l.Errorf("settle: %v", err)
			}
		})
		c := claimOf(name, "b")
		c.Wait = true
		got := twin.claim(c)
		record := got.Record
		if got.Ticket != 0 {
			record = twin.await(got.Ticket, time.Hour).Record
		}
		if string(record.Result) != name {
			l.Fatalf("round %d: %+v", round, record)
		}
		settled.Wait()
	}
}

func waitEarly(l lab) {
	l.own("k", "a")
	ticket := l.wait("k", "b")
	final := l.applied(finalOf("k", "a", "ch_1"))
	l.equal(l.await(ticket, time.Hour).Record, final)
}

func waitRightOwner(l lab) {
	twin := l.twin()
	for round := range 100 {
		owner, next := fmt.Sprint("a", round), fmt.Sprint("b", round)
		l.own("k", owner)
		early := twin.awaiting(twin.wait("k", "early"))
		l.applied(freeOf("k", owner, owner))
		l.own("k", next)
		late := twin.awaiting(twin.wait("k", "late")) // while the early one's notice is on its way
		l.applied(freeOf("k", next, next))
		if n := <-early; n.Record.Failure != owner {
			l.Fatalf("round %d: the early waiter got %+v", round, n)
		}
		if n := <-late; n.Record.Failure != next {
			l.Fatalf("round %d: the late waiter got %+v", round, n)
		}
	}
}

func waitManyKeys(l lab) {
	names := make([]string, 20)
	notices := make([][]<-chan store.Notice, len(names))
	for i := range names {
		names[i] = fmt.Sprint("k", i)
		l.own(names[i], "a")
		notices[i] = l.waiters(names[i], 3)
	}
	for i := range names {
		name := names[len(names)-1-i]
		l.applied(finalOf(name, "a", "result of "+name))
	}
	for i, name := range names {
		for _, ch := range notices[i] {
			if n := <-ch; n.Record.Name != name || string(n.Record.Result) != "result of "+name {
				l.Fatalf("a waiter for %s got %+v", name, n)
			}
		}
	}
}

func waitTicket(l lab) {
	ask := func(name, token string) store.Claim {
		c := claimOf(name, token)
		c.Wait = true
		return c
	}
	l.own("pending", "a")
	if got := l.claim(claimOf("pending", "b")); got.Ticket != 0 {
		l.Fatal("a ticket that nobody asked for")
	}
	if got := l.claim(ask("new", "b")); !got.Mine || got.Ticket != 0 {
		l.Fatalf("an owner waits for nobody: %+v", got)
	}
	if got := l.claim(ask("pending", "a")); !got.Mine || got.Ticket != 0 {
		l.Fatalf("an owner does not wait for itself: %+v", got)
	}
	l.own("done", "a")
	l.applied(finalOf("done", "a", "ch_1"))
	if got := l.claim(ask("done", "b")); got.Ticket != 0 {
		l.Fatalf("nothing is left to wait for: %+v", got)
	}
}

func waitGivesUp(l lab) {
	l.own("k", "a")
	before := l.records()
	stays := l.waiters("k", 2)
	if n := l.await(l.wait("k", "b"), 0); !n.Limit || n.Settled {
		l.Fatalf("the limit passed, and it says %+v", n)
	}
	if n := l.await(l.wait("k", "c"), time.Millisecond); !n.Limit || n.Settled {
		l.Fatalf("the limit passed, and it says %+v", n)
	}
	l.same(before, l.records())
	l.applied(finalOf("k", "a", "ch_1"))
	for _, ch := range stays {
		if n := <-ch; !n.Settled {
			l.Fatalf("a waiter that stayed got %+v", n)
		}
	}
}

func waitContext(l lab) {
	l.own("k", "a")
	before := l.records()
	ticket := l.wait("k", "b")
	ctx, cancel := context.WithCancel(l.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := l.Store.Await(ctx, ticket, time.Hour)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		l.Fatalf("await: %v", err)
	}
	l.same(before, l.records())
}

func waitNoTicket(l lab) {
	if n := l.await(0, time.Hour); n.Settled || n.Limit {
		l.Fatalf("no ticket: %+v", n)
	}
	l.own("k", "a")
	ticket := l.wait("k", "b")
	l.await(ticket, 0)
	if n := l.await(ticket, time.Hour); n.Settled || n.Limit {
		l.Fatalf("a used ticket: %+v", n)
	}
}
