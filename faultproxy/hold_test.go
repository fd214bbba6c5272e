package faultproxy_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/faultproxy"
)

func newHold() *faultproxy.Hold { return &faultproxy.Hold{Match: faultproxy.Name("INCR", "LPUSH")} }

// Nothing reaches the store while it is held, others go on, and it is applied
// when the fault ends.
func TestHold(t *testing.T) {
	onServers(t, newHold, func(t *testing.T, b bench, f *faultproxy.Hold) {
		ctx := context.Background()
		replies := make(chan *redis.IntCmd, 2)
		for range 2 {
			c := b.client(t)
			go func() { replies <- c.Incr(ctx, "k") }()
		}
		must(t, f.Await(ctx, 2))
		mustHold(t, b, "k", 0)
		must(t, b.client(t).Set(ctx, "other", 1, 0).Err())
		if n := f.Held(); n != 2 {
			t.Errorf("%d held, want 2", n)
		}
		b.end()
		sum := int64(0)
		for range 2 {
			n, err := (<-replies).Result()
			must(t, err)
			sum += n
		}
		if sum != 3 {
			t.Errorf("the replies' sum is %d, want 1 and 2", sum)
		}
		if n := f.Held(); n != 0 {
			t.Errorf("%d held after the end", n)
		}
		must(t, b.client(t).Incr(ctx, "k").Err()) // not held any more
		mustFire(t, f, 2)
	})
}

// A command whose client has given up arrives late, and is applied.
func TestHoldThenTheClientIsGone(t *testing.T) {
	onServers(t, newHold, func(t *testing.T, b bench, f *faultproxy.Hold) {
		ctx := context.Background()
		c := b.client(t)
		reply := make(chan error, 1)
		go func() { reply <- c.LPush(ctx, "list", "late").Err() }()
		must(t, f.Await(ctx, 1))
		must(t, c.Close()) // its connections with it
		if err := <-reply; err == nil {
			t.Error("a reply came while the command was held")
		}
		b.end()
		got, err := b.direct.BLPop(ctx, 0, "list").Result()
		if err != nil || got[1] != "late" {
			t.Errorf("the store has %v, %v", got, err)
		}
	})
}

// On a held connection nothing passes, in either direction; on others all does.
func TestHoldHoldsBothDirections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newHold()
		var passed atomic.Int64
		pass := func(link int, d faultproxy.Direction, commands ...faultproxy.Command) {
			go func() {
				f.Pass(t.Context(), faultproxy.Chunk{Link: link, Direction: d, Commands: commands})
				passed.Add(1)
			}()
			synctest.Wait()
		}
		pass(1, faultproxy.ToStore, faultproxy.Command{Name: "INCR"})
		pass(1, faultproxy.ToClient)
		if n := passed.Load(); n != 0 {
			t.Errorf("%d chunks passed on a held connection", n)
		}
		pass(2, faultproxy.ToClient)
		if n := passed.Load(); n != 1 {
			t.Errorf("%d chunks passed on another one, want 1", n)
		}
		f.End()
		synctest.Wait()
		if n := passed.Load(); n != 3 {
			t.Errorf("%d chunks passed after the end, want all 3", n)
		}
	})
}

// A proxy that goes down lets go of what is held, and the store never gets it.
func TestHoldThenDown(t *testing.T) {
	onServers(t, newHold, func(t *testing.T, b bench, f *faultproxy.Hold) {
		ctx := context.Background()
		c := b.client(t)
		reply := make(chan error, 1)
		go func() { reply <- c.Incr(ctx, "k").Err() }()
		must(t, f.Await(ctx, 1))
		b.proxy.Down()
		if err := <-reply; err == nil {
			t.Error("a reply came")
		}
		if n := f.Held(); n != 0 {
			t.Errorf("%d held though the connection is cut", n)
		}
		b.end()
		mustHold(t, b, "k", 0)
	})
}

// Await does not wait for what cannot come.
func TestHoldAwait(t *testing.T) {
	f := newHold()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.Await(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	f.End()
	f.End() // harmless
	if err := f.Await(context.Background(), 1); !errors.Is(err, faultproxy.ErrHold) {
		t.Errorf("after the end: %v", err)
	}
}
