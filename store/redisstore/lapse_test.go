package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// Lapse ends leases as the clock does: no waiter hears of it, and who is spared keeps
// its own.
func TestLapse(t *testing.T) {
	s := open(t, redis.NewClient(redisstore.Options(storetest.StartRedis(t))), redisstore.Config{Prefix: "p:"})
	for _, name := range []string{"a", "b"} {
		mustClaim(t, s, claimOf(name, "first"))
	}
	waiting := mustClaim(t, s, claimOf("a", "second"))
	if n, err := s.Lapse(t.Context(), []string{"b"}); n != 1 || err != nil {
		t.Fatalf("%d leases ended, %v; want that of a", n, err)
	}
	if n, err := s.Await(t.Context(), waiting.Ticket, 100*time.Millisecond); !n.Limit || err != nil {
		t.Errorf("the waiter was told %+v, %v", n, err)
	}
	for name, free := range map[string]bool{"a": true, "b": false} {
		if got := mustClaim(t, s, claimOf(name, "third")); got.Mine != free {
			t.Errorf("%s is free: %v, want %v", name, got.Mine, free)
		}
	}
}
