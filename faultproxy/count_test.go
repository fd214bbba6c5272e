package faultproxy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/faultproxy"
)

// redisClient is go-redis with its defaults: with a handshake, which must not
// count. One connection, so that what was sent before has been counted.
func redisClient(t *testing.T, p *faultproxy.Proxy) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: p.Addr(), PoolSize: 1, DB: 1, Username: "default", Password: "secret"})
	t.Cleanup(func() { c.Close() })
	return c
}

func redisServer(t *testing.T) string {
	t.Helper()
	m := miniredis.RunT(t)
	m.RequireAuth("secret")
	return m.Addr()
}

// What a real client sends, and what counts of it.
func TestCountsOfAClient(t *testing.T) {
	script := redis.NewScript("return redis.call('SET', KEYS[1], 'v')")
	for _, row := range []struct {
		name string
		do   func(context.Context, *redis.Client) error
		want map[string]int
		why  string
	}{
		{"nothing", func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() },
			map[string]int{}, "HELLO, AUTH, SELECT, CLIENT and PING are no data commands"},
		{"one", func(ctx context.Context, c *redis.Client) error { return c.Set(ctx, "k", "v", 0).Err() },
			map[string]int{"SET": 1}, "a command is one"},
		{"script", func(ctx context.Context, c *redis.Client) error {
			if err := script.Load(ctx, c).Err(); err != nil {
				return err
			}
			return script.EvalSha(ctx, c, []string{"k"}).Err()
		}, map[string]int{"EVALSHA": 1}, "a call of a script is one, whatever runs inside it; loading it is none"},
		{"pipeline", func(ctx context.Context, c *redis.Client) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i := range 100 {
					p.Set(ctx, fmt.Sprint(i), strings.Repeat("x", 1000), 0)
				}
				return p.Get(ctx, "1").Err()
			})
			return err
		}, map[string]int{"SET": 100, "GET": 1}, "a pipeline is as many as it holds, however it is cut into chunks"},
		{"transaction", func(ctx context.Context, c *redis.Client) error {
			_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "k", "v", 0).Err() })
			return err
		}, map[string]int{"MULTI": 1, "SET": 1, "EXEC": 1}, "each of a transaction's is one"},
		{"subscription", func(ctx context.Context, c *redis.Client) error {
			s := c.Subscribe(ctx, "inbox")
			defer s.Close()
			if _, err := s.Receive(ctx); err != nil {
				return err
			}
			return c.Publish(ctx, "inbox", "m").Err()
		}, map[string]int{"PUBLISH": 1}, "listening costs nothing, publishing is one"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := listen(t, redisServer(t))
			must(t, row.do(context.Background(), redisClient(t, p)))
			got := p.CommandCounts()
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.why, diff)
			}
			sum := 0
			for _, n := range row.want {
				sum += n
			}
			if p.Commands() != sum {
				t.Errorf("Commands() is %d, want the sum %d", p.Commands(), sum)
			}
		})
	}
}

// A command counts when it is whole: half a command was never sent.
func TestHalfACommandDoesNotCount(t *testing.T) {
	p := listen(t, upstream(t, echo))
	c := dial(t, p)
	say(t, c, "*2\r\n$3\r\nGET\r\n$1\r\n")
	if n := p.Commands(); n != 0 {
		t.Errorf("%d commands before the last byte", n)
	}
	say(t, c, "k\r\nDEL k\r\n")
	if diff := cmp.Diff(map[string]int{"GET": 1, "DEL": 1}, p.CommandCounts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// Counts go on over Down and Up, and what a caller got is its own.
func TestCountsSurviveDown(t *testing.T) {
	p := listen(t, upstream(t, echo))
	say(t, dial(t, p), "GET k\r\n")
	p.Down()
	must(t, p.Up())
	say(t, dial(t, p), "GET k\r\n")
	p.CommandCounts()["GET"] = 100
	if n := p.Commands(); n != 2 {
		t.Errorf("%d commands, want 2", n)
	}
}

// A stream that is no Redis stops counting on its own link only.
func TestGarbageStopsCountingOnItsLinkOnly(t *testing.T) {
	p := listen(t, upstream(t, echo))
	bad := dial(t, p)
	say(t, bad, "\x16\x03\x01\x00")
	say(t, bad, "GET k\r\n")
	say(t, dial(t, p), "GET k\r\n")
	if n := p.Commands(); n != 1 {
		t.Errorf("%d commands, want the one of the good link", n)
	}
}
