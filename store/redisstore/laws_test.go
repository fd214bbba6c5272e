package redisstore_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

func TestMain(m *testing.M) {
	redisstore.Quiet()
	goleak.VerifyTestMain(m)
}

// open makes a store that ends with the test.
func open(t testing.TB, client redis.UniversalClient, cfg redisstore.Config) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(); _ = client.Close() })
	return s
}

// bothWays tests what must hold with pipelines and without.
func bothWays(t *testing.T, test func(t *testing.T, oneByOne bool)) {
	t.Run("pipelines", func(t *testing.T) { test(t, false) })
	t.Run("one by one", func(t *testing.T) { test(t, true) })
}

// together has n callers start at the same moment, and returns when all have ended.
func together(n int, do func(i int)) {
	var running sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		running.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	running.Wait()
}

// laws holds the stores that dial makes against every law, both ways. Each subject
// has a prefix of its own, which another one's would match if MATCH took its signs
// for a pattern; its twin has a client of its own.
func laws(t *testing.T, dial func() redis.UniversalClient) {
	var prefixes atomic.Int64
	bothWays(t, func(t *testing.T, oneByOne bool) {
		storetest.TestStore(t, func(t testing.TB) storetest.Subject {
			prefix := fmt.Sprintf(`?[%d]*\:`, prefixes.Add(1))
			subject := func() storetest.Subject {
				s := open(t, dial(), redisstore.Config{Prefix: prefix, OneByOne: oneByOne})
				return storetest.Subject{Store: s, KV: s, Inspector: s, Controller: s}
			}
			first, second := subject(), subject()
			first.Twin = func() storetest.Subject { return second }
			return first
		})
	})
}

func TestLawsMiniredis(t *testing.T) {
	server := miniredis.RunT(t)
	server.ClockTTL(true) // its keys do not expire by themselves otherwise
	laws(t, func() redis.UniversalClient { return redis.NewClient(redisstore.Options(server.Addr())) })
}

func TestLawsRedis(t *testing.T) {
	addr := storetest.StartRedis(t)
	laws(t, func() redis.UniversalClient { return redis.NewClient(redisstore.Options(addr)) })
}

// Users have a client already, and most have this one.
func TestLawsRedisDefaultClient(t *testing.T) {
	addr := storetest.StartRedis(t)
	laws(t, func() redis.UniversalClient { return redis.NewClient(&redis.Options{Addr: addr}) })
}

func TestLawsCluster(t *testing.T) {
	addrs := storetest.StartCluster(t)
	laws(t, func() redis.UniversalClient { return redis.NewClusterClient(redisstore.ClusterOptions(addrs...)) })
}
