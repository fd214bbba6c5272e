package redisstore_test

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// counter counts the data commands that one client sends: a script call is one;
// handshakes and subscriptions do not pass a hook. That it misses nothing is
// checked against the server's own count.
type counter struct{ sent, pipelines atomic.Int64 }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		switch cmd.Name() {
		case "hello", "client", "script", "ping":
		default:
			c.sent.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() != "hello" && cmds[0].Name() != "client" { // else: a handshake
			c.sent.Add(int64(len(cmds)))
			c.pipelines.Add(1)
		}
		return next(ctx, cmds)
	}
}

// counted is a worker whose commands are counted.
func counted(t testing.TB, addr string, oneByOne bool) (*redisstore.Store, *counter) {
	client := redis.NewClient(redisstore.Options(addr))
	c := &counter{}
	client.AddHook(c)
	return open(t, client, redisstore.Config{Prefix: "budget:", OneByOne: oneByOne}), c
}

// served is how many script calls and plain commands the server has run for its
// clients, by its own statistics.
func served(t testing.TB, admin *redis.Client) (n int64) {
	info, err := admin.InfoMap(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`calls=(\d+)`)
	for name, stats := range info["Commandstats"] {
		switch strings.TrimPrefix(name, "cmdstat_") {
		case "eval", "evalsha", "get", "set", "setnx", "del":
			m := calls.FindStringSubmatch(stats)
			c, _ := strconv.ParseInt(m[1], 10, 64)
			n += c
		}
	}
	return n
}

// textsSent is how often the server was sent a script's whole text.
func textsSent(ctx context.Context, admin *redis.Client) (int, error) {
	info, err := admin.InfoMap(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	calls, _, _ := strings.Cut(strings.TrimPrefix(info["Commandstats"]["cmdstat_eval"], "calls="), ",")
	return strconv.Atoi(calls)
}

func claimOf(name, token string) store.Claim {
	return store.Claim{
		Name: name, Token: token, Fingerprint: "v1:a", Fingerprints: []string{"v1:a"},
		Lease: time.Hour, Retention: time.Hour, Wait: true,
	}
}

func finalOf(name, token string) store.Settlement {
	return store.Settlement{Name: name, Token: token, To: store.Done, Result: []byte("ch_1"), Retention: time.Hour}
}

func mustClaim(t testing.TB, s *redisstore.Store, c store.Claim) store.Claimed {
	t.Helper()
	got, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func mustSettle(t testing.TB, s *redisstore.Store, x store.Settlement) {
	t.Helper()
	got, err := s.Settle(t.Context(), x)
	if err != nil || !got.Applied {
		t.Fatalf("settle: %+v, %v", got, err)
	}
}

// The first calls of a store send the scripts' text; they must not cost more.
func TestBudget(t *testing.T) { bothWays(t, testBudget) }

func testBudget(t *testing.T, oneByOne bool) {
	addr := storetest.StartRedis(t)
	admin := redis.NewClient(redisstore.Options(addr))
	defer admin.Close()
	s, sent := counted(t, addr, oneByOne)
	cost := func(what string, want int64, do func()) {
		t.Helper()
		before, beforeServed := sent.sent.Load(), served(t, admin)
		do()
		if n := sent.sent.Load() - before; n != want {
			t.Errorf("%s: %d commands sent, want %d", what, n, want)
		}
		if n := served(t, admin) - beforeServed; n != want {
			t.Errorf("%s: %d commands served, want %d", what, n, want)
		}
	}
	for _, name := range []string{"first", "second"} {
		cost("fresh", 2, func() {
			mustClaim(t, s, claimOf(name, "a"))
			mustSettle(t, s, finalOf(name, "a"))
		})
		cost("replay", 1, func() { mustClaim(t, s, claimOf(name, "b")) })
		cost("refusal of another payload", 1, func() {
			c := claimOf(name, "c")
			c.Fingerprint, c.Fingerprints = "v1:b", []string{"v1:b"}
			mustClaim(t, s, c)
		})
	}
	if n, err := textsSent(t.Context(), admin); err != nil || n != 2 {
		t.Errorf("the text of two scripts was sent %d times, %v", n, err)
	}
	mustClaim(t, s, claimOf("running", "a"))
	cost("refusal of a running one", 1, func() {
		c := claimOf("running", "b")
		c.Wait = false
		mustClaim(t, s, c)
	})
}

// Ten waiters on one key: each claims once, none sends anything while it waits,
// and the notice brings the result.
func TestBudgetOfWaiters(t *testing.T) { bothWays(t, testBudgetOfWaiters) }

func testBudgetOfWaiters(t *testing.T, oneByOne bool) {
	addr := storetest.StartRedis(t)
	admin := redis.NewClient(redisstore.Options(addr))
	defer admin.Close()
	owner, _ := counted(t, addr, oneByOne)
	mustClaim(t, owner, claimOf("k", "a"))

	s, sent := counted(t, addr, oneByOne)
	notices := make(chan store.Notice)
	for range 10 {
		got := mustClaim(t, s, claimOf("k", "waiter"))
		go func() {
			n, err := s.Await(t.Context(), got.Ticket, time.Hour)
			if err != nil {
				t.Error(err)
			}
			notices <- n
		}()
	}
	if n := sent.sent.Load(); n != 10 {
		t.Fatalf("ten waiters sent %d commands to start waiting", n)
	}
	before := served(t, admin)
	held := time.NewTimer(300 * time.Millisecond) // six times what a poller would pause
	<-held.C
	if n := served(t, admin) - before; n != 0 {
		t.Fatalf("%d commands while waiting", n)
	}
	mustSettle(t, owner, finalOf("k", "a"))
	for range 10 {
		if n := <-notices; !n.Settled || string(n.Record.Result) != "ch_1" {
			t.Fatalf("woken by %+v", n)
		}
	}
	if n := sent.sent.Load(); n != 10 {
		t.Fatalf("ten waiters sent %d commands in all", n)
	}
}

// Fifty callers at once cost what fifty callers in a row do: a command in a
// pipeline counts one.
func TestBudgetOfConcurrentCallers(t *testing.T) { bothWays(t, testBudgetOfConcurrentCallers) }

func testBudgetOfConcurrentCallers(t *testing.T, oneByOne bool) {
	addr := storetest.StartRedis(t)
	admin := redis.NewClient(redisstore.Options(addr))
	defer admin.Close()
	s, sent := counted(t, addr, oneByOne)
	mustClaim(t, s, claimOf("before", "a")) // the server has the scripts
	mustSettle(t, s, finalOf("before", "a"))
	beforeSent, beforeServed := sent.sent.Load(), served(t, admin)
	const callers = 50
	together(callers, func(i int) {
		name := fmt.Sprint("k", i)
		claimed, err := s.Claim(t.Context(), claimOf(name, "a"))
		if err != nil || !claimed.Mine {
			t.Errorf("%s: %+v, %v", name, claimed, err)
		}
		settled, err := s.Settle(t.Context(), finalOf(name, "a"))
		if err != nil || !settled.Applied {
			t.Errorf("%s: %+v, %v", name, settled, err)
		}
	})
	if n := sent.sent.Load() - beforeSent; n != 2*callers {
		t.Errorf("%d commands sent, want %d", n, 2*callers)
	}
	if n := served(t, admin) - beforeServed; n != 2*callers {
		t.Errorf("%d commands served, want %d", n, 2*callers)
	}
	if shared := sent.pipelines.Load(); oneByOne && shared > 0 {
		t.Errorf("%d pipelines, although one by one", shared)
	}
}
