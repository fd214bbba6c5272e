package faultproxy_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/faultproxy"
)

// Applied once, and the client has an error; then all is well again.
func TestLoseReply(t *testing.T) {
	onServers(t, func() *faultproxy.LoseReply { return &faultproxy.LoseReply{Match: faultproxy.Name("INCR"), Times: 1} },
		func(t *testing.T, b bench, f *faultproxy.LoseReply) {
			ctx, c := context.Background(), b.client(t)
			must(t, c.Set(ctx, "other", 1, 0).Err())
			if n, err := c.Incr(ctx, "k").Result(); err == nil || n != 0 {
				t.Errorf("the client got %d, %v; want an error", n, err)
			}
			mustHold(t, b, "k", 1)
			if n, err := c.Incr(ctx, "k").Result(); err != nil || n != 2 {
				t.Errorf("the second time: %d, %v", n, err)
			}
			mustFire(t, f, 1)
		})
}

// Without a bound it fires every time, until it is ended.
func TestLoseReplyEveryTime(t *testing.T) {
	onServers(t, func() *faultproxy.LoseReply { return &faultproxy.LoseReply{} },
		func(t *testing.T, b bench, f *faultproxy.LoseReply) {
			ctx, c := context.Background(), b.client(t)
			for range 5 {
				if err := c.Incr(ctx, "k").Err(); err == nil {
					t.Error("a reply was delivered")
				}
			}
			b.end()
			must(t, c.Incr(ctx, "k").Err())
			mustHold(t, b, "k", 6)
			mustFire(t, f, 5)
		})
}

// Exactly the one reply is lost: those before it arrive, not a byte of it does,
// and the command was applied.
func TestLoseReplyInAPipeline(t *testing.T) {
	second := func(c faultproxy.Command) bool { return c.Name == "INCRBY" && c.Args[1] == "2" }
	onServers(t, func() *faultproxy.LoseReply { return &faultproxy.LoseReply{Match: second} },
		func(t *testing.T, b bench, f *faultproxy.LoseReply) {
			c := dial(t, b.proxy)
			_, err := io.WriteString(c, wire("PING")+wire("INCRBY", "k", "1")+wire("INCRBY", "k", "2")+wire("INCRBY", "other", "1"))
			must(t, err)
			if got, _ := io.ReadAll(c); string(got) != "+PONG\r\n:1\r\n" {
				t.Errorf("%q came, want all up to the reply that is lost", got)
			}
			mustHold(t, b, "k", 3)
			mustFire(t, f, 1)
		})
}

// Replies of many chunks before it do not mislead it. They need not all arrive: a
// reset overtakes what the client has not read.
func TestLoseReplyBehindALongOne(t *testing.T) {
	onServers(t, func() *faultproxy.LoseReply { return &faultproxy.LoseReply{Match: faultproxy.Name("INCR")} },
		func(t *testing.T, b bench, f *faultproxy.LoseReply) {
			long := strings.Repeat("\r\n:1\r\n", 30<<10)
			must(t, b.direct.Set(context.Background(), "long", long, 0).Err())
			c := dial(t, b.proxy)
			_, err := io.WriteString(c, wire("GET", "long")+wire("INCR", "k"))
			must(t, err)
			got, _ := io.ReadAll(c)
			if want := fmt.Sprintf("$%d\r\n%s\r\n", len(long), long); !strings.HasPrefix(want, string(got)) {
				t.Errorf("%d bytes came that are no beginning of the first reply", len(got))
			}
			mustHold(t, b, "k", 1)
			mustFire(t, f, 1)
		})
}

// A reply that takes many chunks is lost from its first byte on.
func TestLoseALongReply(t *testing.T) {
	onServers(t, func() *faultproxy.LoseReply { return &faultproxy.LoseReply{} },
		func(t *testing.T, b bench, f *faultproxy.LoseReply) {
			must(t, b.direct.Set(context.Background(), "long", strings.Repeat("x", 1<<20), 0).Err())
			c := dial(t, b.proxy)
			_, err := io.WriteString(c, wire("GET", "long"))
			must(t, err)
			if got, _ := io.ReadAll(c); len(got) != 0 {
				t.Errorf("%d bytes of the reply arrived", len(got))
			}
			mustFire(t, f, 1)
		})
}

// What a subscription hears is no reply, and does not shift the replies.
func TestLoseReplyLeavesMessages(t *testing.T) {
	onServers(t, func() *faultproxy.LoseReply { return &faultproxy.LoseReply{Match: faultproxy.Name("INCR")} },
		func(t *testing.T, b bench, f *faultproxy.LoseReply) {
			ctx := context.Background()
			c := b.client(t)
			s := c.Subscribe(ctx, "one", "two")
			defer s.Close()
			for range 2 {
				_, err := s.Receive(ctx)
				must(t, err)
			}
			for _, channel := range []string{"one", "two"} {
				must(t, b.direct.Publish(ctx, channel, "INCR").Err())
				m, err := s.ReceiveMessage(ctx)
				must(t, err)
				if m.Channel != channel {
					t.Errorf("heard %v, want one of %s", m, channel)
				}
				must(t, s.Ping(ctx))
				if pong, err := s.Receive(ctx); err != nil {
					t.Errorf("ping: %v, %v", pong, err)
				}
			}
			mustFire(t, f, 0)
		})
}

// A transaction is lost by its EXEC, and has been applied.
func TestLoseATransaction(t *testing.T) {
	onServers(t, func() *faultproxy.LoseReply { return &faultproxy.LoseReply{Match: faultproxy.Name("EXEC")} },
		func(t *testing.T, b bench, f *faultproxy.LoseReply) {
			ctx := context.Background()
			_, err := b.client(t).TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "k")
				return p.Incr(ctx, "k").Err()
			})
			if err == nil {
				t.Error("the transaction's reply was delivered")
			}
			mustHold(t, b, "k", 2)
			mustFire(t, f, 1)
		})
}
