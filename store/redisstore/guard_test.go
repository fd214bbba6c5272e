package redisstore

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
)

// Between looking at a record and changing it, somebody else may have changed
// it. Only what was looked at is changed.
func TestControlLooksAgain(t *testing.T) {
	client := redis.NewClient(Options(miniredis.RunT(t).Addr()))
	defer client.Close()
	s, err := New(client, Config{Prefix: "p:"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := s.Set(ctx, "value", []byte("result"), 0); err != nil {
		t.Fatal(err)
	}
	claim := store.Claim{Name: "claim", Token: "a", Lease: time.Hour, Retention: time.Hour}
	if _, err := s.Claim(ctx, claim); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func() (bool, error){
		"a value that was pending when looked at": func() (bool, error) {
			return s.changed(ctx, s.scripts.expire, "value", `{"state":"pending"}`, 0)
		},
		"a record where a value was looked at": func() (bool, error) {
			return s.changed(ctx, s.scripts.expire, "claim", "result", 0)
		},
		"a claim where a final was looked at": func() (bool, error) {
			return s.changed(ctx, s.scripts.retain, "claim", 0)
		},
		"nothing where a final was looked at": func() (bool, error) {
			return s.changed(ctx, s.scripts.retain, "gone", 0)
		},
	} {
		if changed, err := change(); changed || err != nil {
			t.Errorf("%s: changed %v, %v", what, changed, err)
		}
	}
	if rs, err := s.Records(ctx); err != nil || len(rs) != 2 {
		t.Errorf("left: %+v, %v", rs, err)
	}
}

// A notice for this process's earlier waiters may still be on its way when a
// later one registers. It is not about the claim that the later one has met.
func TestWaiterIsToldOfItsOwner(t *testing.T) {
	settled := func(fence int64) store.Notice {
		return store.Notice{Settled: true, Record: store.Record{Fence: fence}}
	}
	for _, row := range []struct {
		before, after []store.Notice // the claim's reply is read
		want          store.Notice
		why           string
	}{
		{[]store.Notice{settled(1)}, []store.Notice{settled(2)}, settled(2), "an earlier owner's notice came before the reply"},
		{nil, []store.Notice{settled(1), settled(2)}, settled(2), "an earlier owner's notice came after the reply"},
		{[]store.Notice{settled(2)}, nil, settled(2), "its own notice overtook the reply"},
		{nil, []store.Notice{settled(3)}, settled(3), "a later owner's settlement ends the waiting too"},
		{[]store.Notice{{}}, []store.Notice{settled(2)}, store.Notice{}, "notices may have been lost: claim again"},
		{nil, []store.Notice{settled(2), settled(3)}, settled(2), "the first notice counts"},
	} {
		b := newInbox(nil, "p:", "p:inbox")
		ticket := b.register("k")
		for _, n := range row.before {
			b.wake("k", n)
		}
		b.expect(ticket, 2)
		for _, n := range row.after {
			b.wake("k", n)
		}
		select {
		case n := <-b.waiter(ticket).notice:
			if n.Settled != row.want.Settled || n.Record.Fence != row.want.Record.Fence {
				t.Errorf("%s: told of %+v", row.why, n)
			}
		default:
			t.Errorf("%s: told of nothing", row.why)
		}
	}
}
