package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/faultproxy"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// crowd is how many callers ask at once.
const crowd = 50

// A server that has forgotten the scripts is sent their text again, by each who
// finds out, and nobody is told of it.
func TestScriptsForgottenByACrowd(t *testing.T) {
	addr := storetest.StartRedis(t)
	client := redis.NewClient(redisstore.Options(addr))
	s := open(t, client, redisstore.Config{Prefix: "p:"})
	mustClaim(t, s, claimOf("before", "a"))
	if err := client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	together(crowd, func(i int) {
		if got, err := s.Claim(t.Context(), claimOf(fmt.Sprint("k", i), "a")); err != nil || !got.Mine {
			t.Errorf("caller %d: %+v, %v", i, got, err)
		}
	})
}

// Of a crowd with one key one gets it, and all others are told of its end.
func TestOneKeyForACrowd(t *testing.T) {
	bothWays(t, func(t *testing.T, oneByOne bool) {
		s := open(t, redis.NewClient(redisstore.Options(storetest.StartRedis(t))), redisstore.Config{Prefix: "p:", OneByOne: oneByOne})
		var owners atomic.Int64
		together(crowd, func(i int) {
			token := fmt.Sprint(i)
			got, err := s.Claim(t.Context(), claimOf("k", token))
			switch {
			case err != nil:
				t.Errorf("caller %d: %v", i, err)
			case got.Mine:
				owners.Add(1)
				if end, err := s.Settle(t.Context(), finalOf("k", token)); err != nil || !end.Applied {
					t.Errorf("caller %d: %+v, %v", i, end, err)
				}
			case got.Record.State == store.Pending:
				if n, err := s.Await(t.Context(), got.Ticket, time.Hour); err != nil || string(n.Record.Result) != "ch_1" {
					t.Errorf("caller %d: %+v, %v", i, n, err)
				}
			}
		})
		if n := owners.Load(); n != 1 {
			t.Errorf("%d owners", n)
		}
	})
}

// Replies that are lost in the midst of a crowd are made good, and nothing is
// applied twice.
func TestRepliesLostToACrowd(t *testing.T) {
	r := newRelay(t, storetest.StartRedis(t))
	cfg := redisstore.Config{Prefix: "p:", Retry: redisstore.Retry{Tries: 20, Within: time.Minute}}
	s := open(t, redis.NewClient(redisstore.Options(r.addr())), cfg)
	mustClaim(t, s, claimOf("before", "a"))
	r.lose(8) // two for each batch that can be under way
	together(crowd, func(i int) {
		c := claimOf(fmt.Sprint("k", i), "a")
		c.Wait = false
		if got, err := s.Claim(t.Context(), c); err != nil || !got.Mine || got.Took || got.Record.Fence != 1 {
			t.Errorf("caller %d: %+v, %v", i, got, err)
		}
	})
}

// When the store is lost with a crowd at it, each is told that it is unavailable,
// whatever he had asked for; when it is back, all is as it was.
func TestStoreLostUnderACrowd(t *testing.T) {
	p, err := faultproxy.Listen(storetest.StartRedis(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s := open(t, redis.NewClient(redisstore.Options(p.Addr())), redisstore.Config{Prefix: "p:"})
	mustClaim(t, s, claimOf("before", "a"))
	var asked atomic.Int64
	busy := make(chan struct{})
	go func() {
		<-busy
		p.Down()
	}()
	together(crowd, func(i int) {
		name, token := fmt.Sprint("k", i), "a"
		for n := 0; ; n++ {
			if asked.Add(1) == 20*crowd {
				close(busy)
			}
			err := inTurn(t.Context(), s, n, name, token)
			if err == nil {
				continue
			}
			if !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("caller %d: %v", i, err)
			}
			return
		}
	})
	if err := p.Up(); err != nil {
		t.Fatal(err)
	}
	together(crowd, func(i int) {
		if err := inTurn(t.Context(), s, 0, fmt.Sprint("k", i), "a"); err != nil {
			t.Errorf("caller %d, afterwards: %v", i, err)
		}
	})
}

// inTurn does one operation after the other.
func inTurn(ctx context.Context, s *redisstore.Store, n int, name, token string) (err error) {
	switch n % 4 {
	case 0:
		c := claimOf(name, token)
		c.Wait = false
		_, err = s.Claim(ctx, c)
	case 1:
		_, err = s.Settle(ctx, store.Settlement{Name: name, Token: token, To: store.Free, Retention: time.Hour})
	case 2:
		_, err = s.SetNX(ctx, "v"+name, []byte("v"), time.Hour)
	case 3:
		_, _, err = s.Get(ctx, "v"+name)
	}
	return err
}

// Who has left with a reply outstanding costs the next ones nothing.
func TestACrowdThatLeaves(t *testing.T) {
	r := newRelay(t, storetest.StartRedis(t))
	s := open(t, redis.NewClient(redisstore.Options(r.addr())), redisstore.Config{Prefix: "p:"})
	mustClaim(t, s, claimOf("before", "a"))
	release := r.hold()
	defer release()
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-r.held
		leave()
	}()
	together(crowd, func(i int) {
		if _, err := s.Claim(ctx, claimOf(fmt.Sprint("k", i), "a")); !errors.Is(err, context.Canceled) {
			t.Errorf("caller %d: %v", i, err)
		}
	})
	release()
	together(crowd, func(i int) {
		if got, err := s.Claim(t.Context(), claimOf(fmt.Sprint("k", i), "a")); err != nil || !got.Mine || got.Record.Fence != 1 {
			t.Errorf("caller %d, once more: %+v, %v", i, got, err)
		}
	})
}

// Whoever closes the client under a crowd leaves nobody waiting.
func TestClientClosedUnderACrowd(t *testing.T) {
	r := newRelay(t, storetest.StartRedis(t))
	client := redis.NewClient(redisstore.Options(r.addr()))
	s := open(t, client, redisstore.Config{Prefix: "p:"})
	mustClaim(t, s, claimOf("before", "a"))
	release := r.hold()
	defer release()
	go func() {
		<-r.held
		_ = s.Close()
		_ = client.Close()
	}()
	together(crowd, func(i int) {
		if _, err := s.Claim(t.Context(), claimOf(fmt.Sprint("k", i), "a")); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("caller %d: %v", i, err)
		}
	})
}

// The crowd's keys lie on all nodes.
func TestACrowdOnACluster(t *testing.T) {
	s := open(t, redis.NewClusterClient(redisstore.ClusterOptions(storetest.StartCluster(t)...)), redisstore.Config{Prefix: "p:"})
	together(crowd, func(i int) {
		for n := range 10 {
			name := fmt.Sprint("k", i, "/", n)
			if got, err := s.Claim(t.Context(), claimOf(name, "a")); err != nil || !got.Mine || got.Record.Name != name {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			if got, err := s.Settle(t.Context(), finalOf(name, "a")); err != nil || !got.Applied {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	})
}
