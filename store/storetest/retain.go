package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idemrace/idemrace/store"
)

var retainLaws = []law{
	{"never-immortal", "at no moment is there a record that would never expire", retainMortal},
	{"as-asked", "a record's own expiry is the retention that was last asked for", retainAsAsked},
	{"outlives-lease", "a record outlives its lease, whatever retention was asked for", retainOutlives},
	{"ends", "when retention is over the name is new: fence 1, generation 1, any payload", retainEnds},
	{"ends-by-itself", "retention ends by the store's own time", retainEndsByItself},
	{"context", "an operation whose context has ended returns its error and does nothing", retainContext},
}

func retainMortal(l lab) {
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		l.work()
	}()
	for looking := true; looking; {
		select {
		case <-worked:
			looking = false // and look once more
		default:
		}
		for _, r := range l.records() {
			if r.ExpiresIn < 0 {
				l.Errorf("immortal: %+v", r)
				looking = false
			}
		}
	}
	<-worked
}

// work takes records through all their states, from several goroutines.
func (l lab) work() {
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 15 {
				name := fmt.Sprint("k", i)
				token := fmt.Sprint(w, "-", i)
				_, err1 := l.Store.Claim(l.ctx, claimOf(name, token))
				s := []store.Settlement{
					finalOf(name, token, "ch"), freeOf(name, token, "no"), unknownOf(name, token, "cut"),
				}[(w+i)%3]
				_, err2 := l.Store.Settle(l.ctx, s)
				if err := errors.Join(err1, err2); err != nil {
					l.Errorf("worker: %v", err)
				}
			}
		})
	}
	all.Wait()
}

func retainAsAsked(l lab) {
	const hour = time.Hour
	within := func(name string, limit time.Duration) {
		l.Helper()
		if in := l.record(name).ExpiresIn; in <= limit-hour/2 || in > limit {
			l.Fatalf("%s expires in %v, want about %v", name, in, limit)
		}
	}
	for i, to := range []store.State{store.Done, store.Free, store.Unknown} {
		name := fmt.Sprint("k", i)
		c := claimOf(name, "a")
		c.Retention = 5 * hour
		l.claim(c)
		within(name, 5*hour)
		l.applied(store.Settlement{Name: name, Token: "a", To: to, Retention: 9 * hour})
		within(name, 9*hour)
	}
	for i, to := range []store.State{store.Done, store.Free} {
		name := fmt.Sprint("short", i)
		l.own(name, "a")
		l.applied(store.Settlement{Name: name, Token: "a", To: to, Retention: hour / 4})
		if in := l.record(name).ExpiresIn; in > hour/4 {
			l.Fatalf("%s: the lease that is no more keeps the record for %v", to, in)
		}
	}
}

func retainOutlives(l lab) {
	c := claimOf("k", "a")
	c.Retention = time.Millisecond
	l.claim(c)
	if in := l.record("k").ExpiresIn; in <= lease/2 {
		l.Fatalf("a claim of %v expires in %v", lease, in)
	}
	s := unknownOf("k", "a", "cut")
	s.Retention = time.Millisecond
	l.applied(s)
	if in := l.record("k").ExpiresIn; in <= lease/2 {
		l.Fatalf("an unknown outcome, exclusive for %v, expires in %v", lease, in)
	}
}

func retainEnds(l lab) {
	l.own("k", "a")
	s := freeOf("k", "a", "no")
	s.NoEffect = true
	l.applied(s)
	l.own("k", "b")
	l.applied(finalOf("k", "b", "ch_1"))
	l.own("pending", "a")
	n, err := l.Controller.SetExpiry(l.ctx, 0)
	if err != nil || n != 1 {
		l.Fatalf("set expiry: %d, %v", n, err)
	}
	c := claimOf("k", "c")
	c.Fingerprint, c.Fingerprints = other, []string{other}
	got := l.claim(c)
	if !got.Mine || got.Took {
		l.Fatalf("the name is not new: %+v", got)
	}
	l.equal(got.Record, store.Record{
		Name: "k", State: store.Pending, Fingerprint: other, Token: "c", Fence: 1, Generation: 1,
	})
	if r := l.record("pending"); r.State != store.Pending {
		l.Fatalf("only finals end so: %+v", r)
	}
}

func retainEndsByItself(l lab) {
	s := finalOf("k", "a", "ch_1")
	s.Retention = time.Millisecond
	l.applied(s)
	var got store.Claimed
	l.until("retention ends", func() bool {
		got = l.claim(claimOf("k", "b"))
		return got.Mine
	})
	if got.Record.Fence != 1 || got.Took {
		l.Fatalf("the name is not new: %+v", got)
	}
}

func retainContext(l lab) {
	ctx, cancel := context.WithCancel(l.ctx)
	cancel()
	_, claim := l.Store.Claim(ctx, claimOf("k", "a"))
	_, settle := l.Store.Settle(ctx, finalOf("k", "a", "ch_1"))
	_, _, get := l.KV.Get(ctx, "k")
	set := l.KV.Set(ctx, "k", nil, 0)
	_, inspect := l.Inspector.Records(ctx)
	_, purge := l.Controller.Purge(ctx)
	for op, err := range map[string]error{
		"claim": claim, "settle": settle, "get": get, "set": set, "inspect": inspect, "purge": purge,
	} {
		if !errors.Is(err, context.Canceled) {
			l.Errorf("%s: %v", op, err)
		}
	}
	if rs := l.records(); len(rs) != 0 {
		l.Fatalf("something was done: %+v", rs)
	}
}
