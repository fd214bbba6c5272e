package faultproxy_test

import (
	"context"
	"testing"
	"time"

	"github.com/idemrace/idemrace/faultproxy"
)

// Replies and messages arrive, and not before their time. That they are not later
// than that is held in virtual time, by TestDelaysDoNotAddUp.
func TestDelayReplies(t *testing.T) {
	const by = 10 * time.Millisecond
	onServers(t, func() *faultproxy.DelayReplies { return &faultproxy.DelayReplies{By: by} },
		func(t *testing.T, b bench, f *faultproxy.DelayReplies) {
			ctx, c := context.Background(), b.client(t)
			before := f.Fired()
			begin := time.Now()
			must(t, c.Incr(ctx, "k").Err())
			if d := time.Since(begin); d < by {
				t.Errorf("the reply came after %v", d)
			}
			mustFire(t, f, before+1)
			s := b.client(t).Subscribe(ctx, "channel")
			defer s.Close()
			_, err := s.Receive(ctx)
			must(t, err)
			begin = time.Now()
			must(t, b.direct.Publish(ctx, "channel", "m").Err())
			_, err = s.ReceiveMessage(ctx)
			must(t, err)
			if d := time.Since(begin); d < by {
				t.Errorf("the message came after %v", d)
			}
		})
}

// The amplifier: with late replies, all who check before they act have checked
// before the first has acted. Without the fault this is a matter of luck.
func TestDelayMakesARaceCertain(t *testing.T) {
	onServers(t, func() *faultproxy.DelayReplies { return &faultproxy.DelayReplies{By: 50 * time.Millisecond} },
		func(t *testing.T, b bench, f *faultproxy.DelayReplies) {
			const clients = 5
			acted := make(chan bool, clients)
			start := make(chan struct{})
			for range clients {
				c := b.client(t)
				go func() {
					<-start
					n, err := c.Exists(context.Background(), "done").Result()
					must(t, err)
					must(t, c.Set(context.Background(), "done", 1, 0).Err())
					acted <- n == 0
				}()
			}
			close(start)
			for range clients {
				if !<-acted {
					t.Error("somebody was warned")
				}
			}
		})
}

// A fault that waits does not hold up Down.
func TestDelayThenDown(t *testing.T) {
	onServers(t, func() *faultproxy.DelayReplies { return &faultproxy.DelayReplies{By: time.Hour} },
		func(t *testing.T, b bench, f *faultproxy.DelayReplies) {
			c := dial(t, b.proxy)
			_, err := c.Write([]byte(wire("INCR", "k")))
			must(t, err)
			for f.Fired() == 0 {
				time.Sleep(time.Millisecond)
			}
			b.proxy.Down()
			mustBeCut(t, c)
			mustHold(t, b, "k", 1)
		})
}
