package redisstore_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// tries collects what OnTry is told.
type tries struct {
	mu  sync.Mutex
	all []redisstore.Try
}

func (t *tries) on(try redisstore.Try) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, try)
}

func (t *tries) take() []redisstore.Try {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.all
	t.all = nil
	return all
}

// operations is every one that can fail.
func operations(s *redisstore.Store) map[string]func(context.Context) error {
	waiting := claimOf("k", "a")
	plain := waiting
	plain.Wait = false
	return map[string]func(context.Context) error{
		"claim":       func(ctx context.Context) error { _, err := s.Claim(ctx, plain); return err },
		"claim, wait": func(ctx context.Context) error { _, err := s.Claim(ctx, waiting); return err },
		"settle":      func(ctx context.Context) error { _, err := s.Settle(ctx, finalOf("k", "a")); return err },
		"get":         func(ctx context.Context) error { _, _, err := s.Get(ctx, "k"); return err },
		"set":         func(ctx context.Context) error { return s.Set(ctx, "k", nil, 0) },
		"setnx":       func(ctx context.Context) error { _, err := s.SetNX(ctx, "k", nil, 0); return err },
		"expire":      func(ctx context.Context) error { return s.Expire(ctx, "k", 0) },
		"delete":      func(ctx context.Context) error { return s.Delete(ctx, "k") },
		"records":     func(ctx context.Context) error { _, err := s.Records(ctx); return err },
		"end leases":  func(ctx context.Context) error { _, err := s.EndLeases(ctx); return err },
		"set expiry":  func(ctx context.Context) error { _, err := s.SetExpiry(ctx, 0); return err },
		"purge":       func(ctx context.Context) error { _, err := s.Purge(ctx); return err },
	}
}

func TestRefused(t *testing.T) { bothWays(t, testRefused) }

func testRefused(t *testing.T, oneByOne bool) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close() // nobody listens here now
	var seen tries
	s := open(t, redis.NewClient(redisstore.Options(addr)), redisstore.Config{Prefix: "p:", OneByOne: oneByOne, OnTry: seen.on})
	for name, do := range operations(s) {
		if err := do(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(seen.take()); n != 9 {
		t.Errorf("%d tries of three operations that may be repeated, want three each", n)
	}
}

// What the server answers is an answer: unavailable, and not asked again.
func TestServerErrors(t *testing.T) { bothWays(t, testServerErrors) }

func testServerErrors(t *testing.T, oneByOne bool) {
	server := miniredis.RunT(t)
	var seen tries
	s := open(t, redis.NewClient(redisstore.Options(server.Addr())), redisstore.Config{Prefix: "p:", OneByOne: oneByOne, OnTry: seen.on})
	mustClaim(t, s, claimOf("before", "a")) // connected and subscribed
	seen.take()
	for _, message := range []string{
		"OOM command not allowed when used memory > 'maxmemory'.",
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.",
		"CLUSTERDOWN The cluster is down",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"NOAUTH Authentication required.",
		"NOPERM this user has no permissions to run the 'eval' command",
		"MISCONF Redis is configured to save RDB snapshots",
		"WRONGTYPE Operation against a key holding the wrong kind of value",
		"BUSY Redis is busy running a script.",
		"ERR anything",
	} {
		server.SetError(message)
		for name, do := range operations(s) {
			if err := do(t.Context()); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: %s: %v", message, name, err)
			}
			for _, try := range seen.take() {
				if try.Number != 1 || try.Err == nil {
					t.Errorf("%s: %s: %+v", message, name, try)
				}
			}
		}
	}
}

// A server that is full refuses the claim whole: nothing is left behind.
func TestOutOfMemory(t *testing.T) {
	addr := storetest.StartRedis(t, "--maxmemory", "1")
	s := open(t, redis.NewClient(redisstore.Options(addr)), redisstore.Config{Prefix: "p:"})
	_, err := s.Claim(t.Context(), claimOf("k", "a"))
	if !errors.Is(err, store.ErrUnavailable) || !redis.IsOOMError(err) {
		t.Errorf("claim: %v", err)
	}
	if rs, err := s.Records(t.Context()); err != nil || len(rs) != 0 {
		t.Errorf("left: %+v, %v", rs, err)
	}
}

// A lost reply is made good by the same operation with the same token.
func TestReplyLost(t *testing.T) { bothWays(t, testReplyLost) }

func testReplyLost(t *testing.T, oneByOne bool) {
	r := newRelay(t, storetest.StartRedis(t))
	var seen tries
	s := open(t, redis.NewClient(redisstore.Options(r.addr())), redisstore.Config{Prefix: "p:", OneByOne: oneByOne, OnTry: seen.on})
	mustClaim(t, s, claimOf("before", "a")) // connected and subscribed
	twice := func(op string) {
		t.Helper()
		all := seen.take()
		if len(all) != 2 || all[0].Op != op || all[0].Err == nil || all[1].Number != 2 || all[1].Err != nil {
			t.Fatalf("tries of %s: %+v", op, all)
		}
	}
	seen.take()

	r.lose(1)
	if got := mustClaim(t, s, claimOf("k", "a")); !got.Mine || got.Took || got.Record.Fence != 1 {
		t.Fatalf("claimed: %+v", got)
	}
	twice("claim")

	r.lose(1)
	free, err := s.Settle(t.Context(), store.Settlement{
		Name: "k", Token: "a", To: store.Free, NoEffect: true, Retention: time.Hour,
	})
	if err != nil || !free.Applied || free.Record.Generation != 2 {
		t.Fatalf("released: %+v, %v", free, err)
	}
	twice("release")

	mustClaim(t, s, claimOf("k", "b"))
	seen.take()
	r.lose(1)
	mustSettle(t, s, finalOf("k", "b"))
	twice("complete")
}

// When every reply is lost, the operation is unavailable, and what it did is there.
func TestEveryReplyLost(t *testing.T) { bothWays(t, testEveryReplyLost) }

func testEveryReplyLost(t *testing.T, oneByOne bool) {
	r := newRelay(t, storetest.StartRedis(t))
	s := open(t, redis.NewClient(redisstore.Options(r.addr())), redisstore.Config{Prefix: "p:", OneByOne: oneByOne})
	c := claimOf("k", "a")
	c.Wait = false
	r.lose(1000)
	if _, err := s.Claim(t.Context(), c); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("claim: %v", err)
	}
	r.lose(0)
	if got := mustClaim(t, s, c); !got.Mine || got.Record.Fence != 1 {
		t.Fatalf("claimed: %+v", got)
	}
}

// A call returns when its context ends, although the server holds the reply
// back; also with a client that does not look at contexts.
func TestReplyHeld(t *testing.T) { bothWays(t, testReplyHeld) }

func testReplyHeld(t *testing.T, oneByOne bool) {
	for name, options := range map[string]func(addr string) *redis.Options{
		"harness client": redisstore.Options,
		"default client": func(addr string) *redis.Options { return &redis.Options{Addr: addr} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelay(t, storetest.StartRedis(t))
			s := open(t, redis.NewClient(options(r.addr())), redisstore.Config{Prefix: "p:", OneByOne: oneByOne})
			mustClaim(t, s, claimOf("before", "a"))
			release := r.hold()
			defer release()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := s.Claim(ctx, claimOf("k", "a"))
				ended <- err
			}()
			<-r.held
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatalf("claim: %v", err)
			}
			release()
			if got := mustClaim(t, s, claimOf("k", "a")); !got.Mine || got.Record.Fence != 1 {
				t.Fatalf("the same claim once more: %+v", got)
			}
		})
	}
}

// A server that answers nothing at all, not even to the subscription, makes an
// operation unavailable, although its caller has no deadline and the default
// client's patience is long.
func TestNothingAnswered(t *testing.T) { bothWays(t, testNothingAnswered) }

func testNothingAnswered(t *testing.T, oneByOne bool) {
	for name, options := range map[string]func(addr string) *redis.Options{
		"harness client": redisstore.Options,
		"default client": func(addr string) *redis.Options { return &redis.Options{Addr: addr} },
	} {
		for what, connected := range map[string]bool{"from the start": false, "after a while": true} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				r := newRelay(t, storetest.StartRedis(t))
				cfg := redisstore.Config{Prefix: "p:", OneByOne: oneByOne, Retry: redisstore.Retry{Within: 500 * time.Millisecond}}
				s := open(t, redis.NewClient(options(r.addr())), cfg)
				if connected {
					mustClaim(t, s, claimOf("before", "a"))
				}
				release := r.hold()
				defer release()
				if _, err := s.Claim(context.WithoutCancel(t.Context()), claimOf("k", "a")); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("claim: %v", err)
				}
			})
		}
	}
}

// When the subscription breaks, notices may be lost: all waiters claim again,
// which makes a new one, and that one works.
func TestSubscriptionBroken(t *testing.T) {
	addr := storetest.StartRedis(t)
	admin := redis.NewClient(redisstore.Options(addr))
	defer admin.Close()
	owner := open(t, redis.NewClient(redisstore.Options(addr)), redisstore.Config{Prefix: "p:"})
	s := open(t, redis.NewClient(redisstore.Options(addr)), redisstore.Config{Prefix: "p:"})
	mustClaim(t, owner, claimOf("k", "a"))
	for range 5 {
		first := mustClaim(t, s, claimOf("k", "b")).Ticket
		second := mustClaim(t, s, claimOf("k", "c")).Ticket
		if n, err := admin.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Result(); err != nil || n == 0 {
			t.Fatalf("killed %d, %v", n, err)
		}
		for _, ticket := range []store.Ticket{first, second} {
			n, err := s.Await(t.Context(), ticket, time.Hour)
			if err != nil || n.Settled || n.Limit {
				t.Fatalf("woken by %+v, %v", n, err)
			}
		}
	}
	ticket := mustClaim(t, s, claimOf("k", "b")).Ticket
	mustSettle(t, owner, finalOf("k", "a"))
	if n, err := s.Await(t.Context(), ticket, time.Hour); err != nil || !n.Settled {
		t.Fatalf("woken by %+v, %v", n, err)
	}
}

// Who has been told is registered no longer: else every later settlement of the
// name would be published to everybody who ever waited.
func TestRegistrationsEnd(t *testing.T) {
	addr := storetest.StartRedis(t)
	client := redis.NewClient(redisstore.Options(addr))
	s := open(t, client, redisstore.Config{Prefix: "p:"})
	registered := func() (n int) {
		fields, err := client.HKeys(t.Context(), "p:k").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fields {
			if strings.HasPrefix(f, "inbox:") {
				n++
			}
		}
		return n
	}
	for what, end := range map[string]func(token string){
		"a settlement": func(token string) {
			mustSettle(t, s, store.Settlement{Name: "k", Token: token, To: store.Free, Retention: time.Hour})
		},
		"the lease's end by command": func(string) {
			if _, err := s.EndLeases(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		mustClaim(t, s, claimOf("k", what))
		mustClaim(t, s, claimOf("k", "b"))
		mustClaim(t, s, claimOf("k", "c"))
		if n := registered(); n != 1 {
			t.Errorf("two waiters of one store have %d inboxes", n)
		}
		end(what)
		if n := registered(); n != 0 {
			t.Errorf("after %s: %d inboxes", what, n)
		}
	}
}

// A message that cannot be read may have been anybody's notice: all claim again,
// and the subscription goes on.
func TestStrangeMessage(t *testing.T) {
	addr := storetest.StartRedis(t)
	admin := redis.NewClient(redisstore.Options(addr))
	defer admin.Close()
	s := open(t, redis.NewClient(redisstore.Options(addr)), redisstore.Config{Prefix: "p:"})
	mustClaim(t, s, claimOf("k", "a"))
	for range 2 {
		ticket := mustClaim(t, s, claimOf("k", "b")).Ticket
		inboxes, err := admin.PubSubChannels(t.Context(), "p:*").Result()
		if err != nil || len(inboxes) != 1 {
			t.Fatalf("inboxes: %v, %v", inboxes, err)
		}
		if err := admin.Publish(t.Context(), inboxes[0], "hello").Err(); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Await(t.Context(), ticket, time.Hour); err != nil || n.Settled || n.Limit {
			t.Fatalf("woken by %+v, %v", n, err)
		}
	}
}

// A server that has forgotten the scripts is sent their text again.
func TestScriptsForgotten(t *testing.T) { bothWays(t, testScriptsForgotten) }

func testScriptsForgotten(t *testing.T, oneByOne bool) {
	addr := storetest.StartRedis(t)
	client := redis.NewClient(redisstore.Options(addr))
	s := open(t, client, redisstore.Config{Prefix: "p:", OneByOne: oneByOne})
	for range 3 {
		mustClaim(t, s, claimOf("k", "a"))
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	mustSettle(t, s, finalOf("k", "a"))
}

func TestClose(t *testing.T) { bothWays(t, testClose) }

func testClose(t *testing.T, oneByOne bool) {
	addr := storetest.StartRedis(t)
	s := open(t, redis.NewClient(redisstore.Options(addr)), redisstore.Config{Prefix: "p:", OneByOne: oneByOne})
	mustClaim(t, s, claimOf("k", "a"))
	ticket := mustClaim(t, s, claimOf("k", "b")).Ticket
	s.Close()
	if n, err := s.Await(t.Context(), ticket, time.Hour); err != nil || n.Settled || n.Limit {
		t.Errorf("a waiter of a closed store: %+v, %v", n, err)
	}
	if _, err := s.Claim(t.Context(), claimOf("k", "b")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a waiting claim on a closed store: %v", err)
	}
	s.Close() // twice does no harm
}

func TestNewRefuses(t *testing.T) {
	client := redis.NewClient(redisstore.Options("127.0.0.1:1"))
	defer client.Close()
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	for _, row := range []struct {
		client redis.UniversalClient
		cfg    redisstore.Config
		why    string
	}{
		{nil, redisstore.Config{Prefix: "p:"}, "no client"},
		{ring, redisstore.Config{Prefix: "p:"}, "shards of a ring do not hear each other"},
		{client, redisstore.Config{}, "Purge would delete everything"},
		{client, redisstore.Config{Prefix: "p:", Retry: redisstore.Retry{Tries: -1}}, "less than no tries"},
	} {
		if _, err := redisstore.New(row.client, row.cfg); err == nil {
			t.Errorf("New was content, although: %s", row.why)
		}
	}
}

// The rights in the package comment suffice, and the channel is one of them.
func TestRights(t *testing.T) { bothWays(t, testRights) }

func testRights(t *testing.T, oneByOne bool) {
	addr := storetest.StartRedis(t)
	admin := redis.NewClient(redisstore.Options(addr))
	defer admin.Close()
	as := func(user string, rules ...any) *redisstore.Store {
		rule := append([]any{"ACL", "SETUSER", user, "on", ">pw", "~p:*",
			"+eval", "+evalsha", "+subscribe", "+ping", "+time", "+hgetall", "+hset", "+hdel", "+pexpire", "+pttl", "+publish",
		}, rules...)
		if err := admin.Do(t.Context(), rule...).Err(); err != nil {
			t.Fatal(err)
		}
		o := redisstore.Options(addr)
		o.Username, o.Password = user, "pw"
		return open(t, redis.NewClient(o), redisstore.Config{Prefix: "p:", OneByOne: oneByOne})
	}
	s := as("may", "&p:*")
	mustClaim(t, s, claimOf("k", "a"))
	ticket := mustClaim(t, s, claimOf("k", "b")).Ticket
	mustSettle(t, s, finalOf("k", "a"))
	if n, err := s.Await(t.Context(), ticket, time.Hour); err != nil || !n.Settled {
		t.Errorf("woken by %+v, %v", n, err)
	}
	deaf := as("maynot", "resetchannels")
	mustClaim(t, deaf, claimOf("k2", "a"))
	if got, err := deaf.Claim(t.Context(), claimOf("k2", "b")); err != nil || got.Mine || got.Ticket != 0 {
		t.Errorf("without the channel: %+v, %v; want the record, and no ticket", got, err)
	}
}
