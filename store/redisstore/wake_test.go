package redisstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// How long it takes from the owner's settling to the waiter's return, on another
// worker, over a real server.
func BenchmarkWaiterWake(b *testing.B) { benchmarkWake(b, 1) }

// The same while the waiter's process waits on a thousand keys.
func BenchmarkWaiterWake1000Keys(b *testing.B) { benchmarkWake(b, 1000) }

func benchmarkWake(b *testing.B, keys int) {
	addr := storetest.StartRedis(b)
	owner := open(b, redis.NewClient(redisstore.Options(addr)), redisstore.Config{Prefix: "wake:"})
	waiter := open(b, redis.NewClient(redisstore.Options(addr)), redisstore.Config{Prefix: "wake:"})
	woken := make(chan time.Time)
	wait := func(name string) {
		got, err := owner.Claim(b.Context(), claimOf(name, "a"))
		if err != nil || !got.Mine {
			b.Fatalf("%+v, %v", got, err)
		}
		got, err = waiter.Claim(b.Context(), claimOf(name, "b"))
		if err != nil || got.Ticket == 0 {
			b.Fatalf("%+v, %v", got, err)
		}
		go func() {
			n, err := waiter.Await(b.Context(), got.Ticket, time.Hour)
			if err == nil && n.Settled {
				woken <- time.Now()
			}
		}()
	}
	for i := range keys {
		wait(fmt.Sprint("k", i))
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprint("k", i%keys)
		settled := time.Now()
		s := store.Settlement{Name: name, Token: "a", To: store.Free, Retention: time.Hour}
		if _, err := owner.Settle(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-woken).Sub(settled))
		wait(name)
	}
	slices.Sort(took)
	at := func(q float64) float64 {
		return float64(took[int(q*float64(len(took)-1))]) / float64(time.Microsecond)
	}
	b.ReportMetric(at(0.5), "median-us")
	b.ReportMetric(at(0.99), "p99-us")
}

// How long a claim takes to say that the server refuses connections: what a
// coordinator that fails open adds to every request of an outage.
func BenchmarkRefused(b *testing.B) {
	s := open(b, redis.NewClient(redisstore.Options("127.0.0.1:1")), redisstore.Config{Prefix: "p:"})
	for b.Loop() {
		if _, err := s.Claim(b.Context(), claimOf("k", "a")); !errors.Is(err, store.ErrUnavailable) {
			b.Fatal(err)
		}
	}
}
