package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemrace/idemrace/store"
)

var plainLaws = []law{
	{"get-set", "a value of any bytes is given back as it was set, and the last one stands", plainGetSet},
	{"set-nx", "of concurrent SetNX one sets", plainSetNX},
	{"delete", "a deleted name is absent; deleting an absent one is no error", plainDelete},
	{"expiry", "a ttl of 0 means no expiry, also where there was one", plainExpiry},
	{"expires", "a value is gone after its ttl, by the store's own time", plainExpires},
	{"inspect", "a value is listed as done, or in the state that its JSON says", plainInspect},
	{"other-kind", "a plain command on a record, and a claim on a plain value, are refused as unavailable", plainOtherKind},
}

func (l lab) get(name string) (string, bool) {
	l.Helper()
	v, found, err := l.KV.Get(l.ctx, name)
	if err != nil {
		l.Fatalf("get %q: %v", name, err)
	}
	return string(v), found
}

func (l lab) set(name, value string, ttl time.Duration) {
	l.Helper()
	if err := l.KV.Set(l.ctx, name, []byte(value), ttl); err != nil {
		l.Fatalf("set %q: %v", name, err)
	}
}

func plainGetSet(l lab) {
	if v, found := l.get("k"); found || v != "" {
		l.Fatalf("absent: %q, %v", v, found)
	}
	for _, value := range []string{"", "v", "\x00\xff\r\n", "v"} {
		l.set("k", value, 0)
		if v, found := l.twin().get("k"); !found || v != value {
			l.Fatalf("set %q, got %q, %v", value, v, found)
		}
	}
}

func plainSetNX(l lab) {
	var sets atomic.Int64
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			set, err := l.KV.SetNX(l.ctx, "k", fmt.Append(nil, i), time.Hour)
			if err != nil {
				l.Errorf("setnx: %v", err)
			}
			if set {
				sets.Add(1)
			}
		})
	}
	all.Wait()
	if n := sets.Load(); n != 1 {
		l.Fatalf("%d of them set", n)
	}
}

func plainDelete(l lab) {
	l.set("k", "v", 0)
	for range 2 {
		if err := l.KV.Delete(l.ctx, "k"); err != nil {
			l.Fatal(err)
		}
		if _, found := l.get("k"); found {
			l.Fatal("still there")
		}
	}
}

func plainExpiry(l lab) {
	expects := func(want string) {
		l.Helper()
		in := l.record("k").ExpiresIn
		if mortal := in > time.Hour/2 && in <= time.Hour; (want == "mortal") != mortal || (want == "immortal") != (in < 0) {
			l.Fatalf("expires in %v, want it %s", in, want)
		}
	}
	expire := func(ttl time.Duration) {
		l.Helper()
		if err := l.KV.Expire(l.ctx, "k", ttl); err != nil {
			l.Fatal(err)
		}
	}
	expire(time.Hour) // absent: no error, and nothing appears
	if len(l.records()) != 0 {
		l.Fatal("expire made a value")
	}
	l.set("k", "v", 0)
	expects("immortal")
	expire(time.Hour)
	expects("mortal")
	expire(0)
	expects("immortal")
	l.set("k", "v", time.Hour)
	expects("mortal")
	l.set("k", "v", 0)
	expects("immortal")
}

func plainExpires(l lab) {
	l.set("k", "v", time.Millisecond)
	l.until("the value expires", func() bool {
		_, found := l.get("k")
		return !found
	})
	set, err := l.KV.SetNX(l.ctx, "k", []byte("w"), 0)
	if err != nil || !set {
		l.Fatalf("setnx after expiry: %v, %v", set, err)
	}
}

func plainInspect(l lab) {
	pending := `{"state":"pending","by":"a"}`
	l.set("pending", pending, time.Hour)
	l.set("done", `{"state":"done"}`, 0)
	l.set("text", "ch_\x001", 0)
	l.equal(l.record("pending"), store.Record{Name: "pending", State: store.Pending})
	l.equal(l.record("done"), store.Record{Name: "done", State: store.Done, Result: []byte(`{"state":"done"}`)})
	l.equal(l.record("text"), store.Record{Name: "text", State: store.Done, Result: []byte("ch_\x001")})
	if left := l.record("pending").LeaseLeft; left <= time.Hour/2 || left > time.Hour {
		l.Fatalf("a pending value's lease is its ttl, not %v", left)
	}
	if v, _ := l.get("pending"); v != pending {
		l.Fatalf("inspecting changed the value: %q", v)
	}
}

func plainOtherKind(l lab) {
	l.own("record", "a")
	if _, _, err := l.KV.Get(l.ctx, "record"); !errors.Is(err, store.ErrUnavailable) {
		l.Errorf("get of a record: %v", err)
	}
	l.set("value", "v", 0)
	if _, err := l.Store.Claim(l.ctx, claimOf("value", "a")); !errors.Is(err, store.ErrUnavailable) {
		l.Errorf("claim of a value: %v", err)
	}
	if _, err := l.Store.Settle(l.ctx, finalOf("value", "a", "ch_1")); !errors.Is(err, store.ErrUnavailable) {
		l.Errorf("settle of a value: %v", err)
	}
	if v, _ := l.get("value"); v != "v" {
		l.Errorf("the value became %q", v)
	}
}
