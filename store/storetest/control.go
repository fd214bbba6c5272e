package storetest

import (
	"fmt"
	"time"

	"github.com/idemrace/idemrace/store"
)

var controlLaws = []law{
	{"end-leases", "leases of pending and unknown records end, once; pending values go; all else stays", controlEndLeases},
	{"set-expiry", "every final gets the time asked for, and nothing else does", controlSetExpiry},
	{"purge", "everything of one's own goes, and nothing of anybody else's", controlPurge},
	{"own-records", "nobody sees or changes another's records", controlOwn},
}

// oneOfEach makes one of every kind; three of them have a lease.
func (l lab) oneOfEach() {
	l.own("pending", "a")
	l.own("unknown", "a")
	l.applied(unknownOf("unknown", "a", "cut"))
	l.own("free", "a")
	l.applied(freeOf("free", "a", "no"))
	l.own("done", "a")
	l.applied(finalOf("done", "a", "ch_1"))
	l.set("value", "v", time.Hour)
	l.set("pending value", `{"state":"pending"}`, time.Hour)
}

func controlEndLeases(l lab) {
	l.oneOfEach()
	if n := l.endLeases(); n != 3 {
		l.Fatalf("%d ended, want 3", n)
	}
	if n := l.endLeases(); n != 0 {
		l.Fatalf("%d ended twice", n)
	}
	for _, r := range l.records() {
		if (r.State == store.Pending || r.State == store.Unknown) && r.LeaseLeft > 0 {
			l.Errorf("its lease goes on: %+v", r)
		}
	}
	if _, found := l.get("pending value"); found {
		l.Error("a pending value stayed, although its ttl is its lease")
	}
	if v, _ := l.get("value"); v != "v" {
		l.Error("another value went")
	}
}

func controlSetExpiry(l lab) {
	l.oneOfEach()
	const d = 200 * time.Hour
	n, err := l.Controller.SetExpiry(l.ctx, d)
	if err != nil || n != 2 {
		l.Fatalf("%d changed, %v, want 2", n, err)
	}
	for _, r := range l.records() {
		if long := r.ExpiresIn > d/2; long != (r.State == store.Done) {
			l.Errorf("expires in %v: %+v", r.ExpiresIn, r)
		}
	}
	if n, err = l.Controller.SetExpiry(l.ctx, 0); err != nil || n != 2 {
		l.Fatalf("%d ended, %v, want 2", n, err)
	}
	if rs := l.records(); len(rs) != 4 {
		l.Fatalf("left: %+v", rs)
	}
}

func controlPurge(l lab) {
	other := l
	other.Subject = l.another()
	l.oneOfEach()
	other.oneOfEach()
	for i := range 1500 { // more than one page of any listing
		l.set(fmt.Sprint("k", i), "v", 0)
	}
	n, err := l.Controller.Purge(l.ctx)
	if err != nil || n != 1506 {
		l.Fatalf("%d purged, %v", n, err)
	}
	if rs := l.records(); len(rs) != 0 {
		l.Fatalf("left: %+v", rs)
	}
	if rs := other.records(); len(rs) != 6 {
		l.Fatalf("of another's records %d are left", len(rs))
	}
}

func controlOwn(l lab) {
	other := l
	other.Subject = l.another()
	l.own("k", "a")
	if got := other.own("k", "b"); got.Record.Fence != 1 {
		l.Fatalf("claimed another's: %+v", got)
	}
	if n := other.endLeases(); n != 1 {
		l.Fatalf("%d leases ended", n)
	}
	if r := l.record("k"); r.Token != "a" || r.LeaseLeft <= 0 {
		l.Fatalf("another's lease was ended: %+v", r)
	}
}
