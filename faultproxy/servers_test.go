package faultproxy_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/tidwall/redcon"

	"github.com/idemrace/idemrace/faultproxy"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// bench is a server, a proxy before it with a fault, and who talks to both.
type bench struct {
	proxy    *faultproxy.Proxy
	end      func()
	direct   *redis.Client // to the server, past the proxy
	protocol int
}

// client is one connection's worth of client through the proxy: nothing is sent
// twice, nothing is sent on its own, and the handshake is over.
func (b bench) client(t *testing.T) *redis.Client {
	t.Helper()
	o := redisstore.Options(b.proxy.Addr())
	o.PoolSize, o.Protocol = 1, b.protocol
	o.ReadTimeout = patience
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	must(t, c.Ping(context.Background()).Err())
	return c
}

// onServers runs a test with a fresh fault on each server, in both protocols.
func onServers[F faultproxy.Fault](t *testing.T, fault func() F, test func(*testing.T, bench, F)) {
	redisstore.Quiet()
	for _, start := range []struct {
		name  string
		start func(testing.TB) string
	}{
		{"miniredis", func(t testing.TB) string { return miniredis.RunT(t).Addr() }},
		{"redis", func(t testing.TB) string { return storetest.StartRedis(t) }},
	} {
		t.Run(start.name, func(t *testing.T) {
			addr := start.start(t)
			direct := redis.NewClient(redisstore.Options(addr))
			t.Cleanup(func() { direct.Close() })
			for _, protocol := range []int{2, 3} {
				t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
					must(t, direct.FlushAll(context.Background()).Err())
					p, f := listen(t, addr), fault()
					test(t, bench{p, p.Disturb(f), direct, protocol}, f)
				})
			}
		})
	}
}

// mustHold checks the number under a key, as the server has it.
func mustHold(t *testing.T, b bench, key string, want int) {
	t.Helper()
	if got, err := b.direct.Get(context.Background(), key).Int(); err != nil && err != redis.Nil || got != want {
		t.Errorf("the server has %s = %d (%v), want %d", key, got, err, want)
	}
}

func mustFire(t *testing.T, f interface{ Fired() int }, want int) {
	t.Helper()
	if n := f.Fired(); n != want {
		t.Errorf("fired %d times, want %d", n, want)
	}
}

// wire is a command as clients send it; miniredis takes no other form.
func wire(args ...string) string {
	b := redcon.AppendArray(nil, len(args))
	for _, a := range args {
		b = redcon.AppendBulkString(b, a)
	}
	return string(b)
}
