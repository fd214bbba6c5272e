package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/store"
)

var keepLaws = []law{
	{"renews", "while a claim is kept, its lease is lengthened, and the record outlives it", keepRenews},
	{"lost", "keeping a claim that another has taken over ends with ErrLeaseLost", keepLost},
	{"gone", "keeping a claim that is no longer there ends with ErrLeaseLost", keepGone},
	{"settled", "a final record is not renewed", keepSettled},
	{"max-run", "after MaxRun the claim is no longer renewed, and the context ends with ErrRunTooLong", keepMaxRun},
	{"stop", "after stop has returned nothing is renewed", keepStop},
	{"each", "every single renewal is made through Each, and none that stops there", keepEach},
	{"anybody", "without a token the claim is kept up whoever owns it, and nobody's is not", keepAnybody},
	{"context", "the kept context carries the caller's values and ends with it", keepContext},
}

// often is a renewal that happens all the time.
func often(name, token string) store.Renewal {
	return store.Renewal{Name: name, Token: token, Lease: lease, Every: time.Millisecond, MaxRun: time.Hour}
}

func (l lab) ends(kept context.Context, with error) {
	l.Helper()
	select {
	case <-kept.Done():
		if cause := context.Cause(kept); !errors.Is(cause, with) {
			l.Fatalf("ended with %v, want %v", cause, with)
		}
	case <-l.ctx.Done():
		l.Fatalf("never ended, want %v", with)
	}
}

func keepRenews(l lab) {
	c := claimOf("k", "a")
	c.Lease, c.Retention = time.Minute, time.Minute
	if !l.claim(c).Mine {
		l.Fatal("not claimed")
	}
	kept, stop := l.Store.Keep(l.ctx, often("k", "a"))
	defer stop()
	var r store.Record
	l.until("the lease is renewed", func() bool {
		r = l.record("k")
		return r.LeaseLeft > lease/2
	})
	if r.ExpiresIn < lease/2 {
		l.Fatalf("the record goes before its lease: %+v", r)
	}
	if r.Fence != 1 || r.Token != "a" || kept.Err() != nil {
		l.Fatalf("a renewal changed more than the lease: %+v, %v", r, kept.Err())
	}
}

func keepLost(l lab) {
	l.own("k", "a")
	l.endLeases()
	l.twin().own("k", "b")
	before := l.records()
	kept, stop := l.Store.Keep(l.ctx, often("k", "a"))
	defer stop()
	l.ends(kept, store.ErrLeaseLost)
	l.same(before, l.records())
}

func keepGone(l lab) {
	kept, stop := l.Store.Keep(l.ctx, often("k", "a"))
	defer stop()
	l.ends(kept, store.ErrLeaseLost)
	if rs := l.records(); len(rs) != 0 {
		l.Fatalf("a renewal made a record: %+v", rs)
	}
}

func keepSettled(l lab) {
	l.own("k", "a")
	l.applied(finalOf("k", "a", "ch_1"))
	before := l.records()
	kept, stop := l.Store.Keep(l.ctx, often("k", "a"))
	defer stop()
	l.ends(kept, store.ErrLeaseLost)
	l.same(before, l.records())
}

func keepMaxRun(l lab) {
	l.own("k", "a")
	r := often("k", "a")
	r.MaxRun = 5 * time.Millisecond
	kept, stop := l.Store.Keep(l.ctx, r)
	defer stop()
	l.ends(kept, store.ErrRunTooLong)
}

func keepStop(l lab) {
	for round := range 20 {
		name := fmt.Sprint("k", round)
		l.own(name, "a")
		kept, stop := l.Store.Keep(l.ctx, often(name, "a"))
		stop()
		l.ends(kept, context.Canceled)
		l.endLeases()
		if got := l.own(name, "b"); !got.Took {
			l.Fatalf("round %d: renewed after stop: %+v", round, got)
		}
		stop() // once more does no harm
	}
}

func keepContext(l lab) {
	type key struct{}
	parent, cancel := context.WithCancel(context.WithValue(l.ctx, key{}, "v"))
	l.own("k", "a")
	kept, stop := l.Store.Keep(parent, often("k", "a"))
	defer stop()
	if kept.Value(key{}) != "v" {
		l.Fatal("a value is lost")
	}
	cancel()
	l.ends(kept, context.Canceled)
}

// Whoever wraps a store sees single renewals only there.
func keepEach(l lab) {
	c := claimOf("k", "a")
	c.Lease = time.Minute
	if !l.claim(c).Mine {
		l.Fatal("not claimed")
	}
	asked, made, through := make(chan struct{}), make(chan bool), make(chan bool)
	r := often("k", "a")
	r.Each = func(renew func() (bool, error)) (bool, error) {
		asked <- struct{}{}
		if !<-through {
			return false, errors.New("stopped on its way")
		}
		kept, err := renew()
		made <- kept && err == nil
		return kept, err
	}
	kept, stop := l.Store.Keep(l.ctx, r)
	receive(l, asked)
	through <- false
	receive(l, asked)
	if left := l.record("k").LeaseLeft; left > time.Minute {
		l.Fatalf("renewed although it was stopped on its way: %v left", left)
	}
	through <- true
	if !receive(l, made) || l.record("k").LeaseLeft < lease/2 {
		l.Fatalf("the renewal was not made: %+v", l.record("k"))
	}
	if kept.Err() != nil {
		l.Fatalf("an error is no lost lease, but: %v", context.Cause(kept))
	}
	go func() { // so that it can stop
		for range asked {
			through <- false
		}
	}()
	stop()
	close(asked)
}

// receive is bounded: a store that never asks fails the law.
func receive[T any](l lab, from <-chan T) T {
	l.Helper()
	select {
	case v := <-from:
		return v
	case <-l.ctx.Done():
		l.Fatal("no renewal came by")
		panic("unreachable")
	}
}

// That is what EXPIRE does; a coordinator must not do so.
func keepAnybody(l lab) {
	l.own("k", "a")
	l.endLeases()
	c := claimOf("k", "b")
	c.Lease = time.Minute
	if !l.twin().claim(c).Mine {
		l.Fatal("not taken over")
	}
	kept, stop := l.Store.Keep(l.ctx, often("k", ""))
	defer stop()
	l.until("the other's lease is renewed", func() bool { return l.record("k").LeaseLeft > lease/2 })
	if r := l.record("k"); r.Token != "b" || kept.Err() != nil {
		l.Fatalf("a renewal changed more than the lease: %+v, %v", r, kept.Err())
	}
	l.applied(finalOf("k", "b", "ch_1"))
	l.ends(kept, store.ErrLeaseLost)
}
