package wait_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/impl/wait"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// rounds, interleaved: whatever disturbs the machine disturbs all ways alike. The
// figures are ratios of the medians.
const rounds = 9

// way is one way to handle fresh requests.
type way struct {
	name string
	do   func(ctx context.Context, n int64) error
	each []float64 // nanoseconds a request, by round
}

// What coordination costs, and what pipelining saves, with fifty callers. The floor
// is the same scripts by the same client, and no coordinator.
func BenchmarkFiftyCallers(b *testing.B) { benchmarkCost(b, 50, 6000) }

// The same with one caller: then it is latency.
func BenchmarkOneCaller(b *testing.B) { benchmarkCost(b, 1, 2000) }

func benchmarkCost(b *testing.B, callers, requests int) {
	addr := storetest.StartRedis(b)
	admin := redis.NewClient(redisstore.Options(addr))
	defer admin.Close()
	ways := []*way{
		{name: "wait", do: coordinated(b, opened(b, addr, false))},
		{name: "floor", do: floor(b, opened(b, addr, false))},
		{name: "wait, one by one", do: coordinated(b, opened(b, addr, true))},
		{name: "floor, one by one", do: floor(b, opened(b, addr, true))},
	}
	for b.Loop() {
		for round := range rounds + 1 {
			for i := range ways {
				w := ways[(i+round)%len(ways)]
				took := measure(b, w, callers, requests)
				if round > 0 { // the first connects, and sends the scripts
					w.each = append(w.each, took)
				}
				if err := admin.FlushDB(b.Context()).Err(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	medians := make([]float64, len(ways))
	for i, w := range ways {
		slices.Sort(w.each)
		medians[i] = w.each[len(w.each)/2]
		b.Logf("%-18s %7.1f µs a request (%.1f to %.1f)", w.name, medians[i]/1000, w.each[0]/1000, w.each[len(w.each)-1]/1000)
	}
	b.ReportMetric(medians[1]/medians[0], "of-floor's-throughput")
	b.ReportMetric(medians[0]/medians[1], "of-floor's-latency")
	b.ReportMetric(medians[2]/medians[0], "of-one-by-one's-throughput")
	b.ReportMetric(medians[3]/medians[2], "of-floor's,-both-one-by-one")
}

// measure is the time a request, in nanoseconds.
func measure(b *testing.B, w *way, callers, requests int) float64 {
	var next atomic.Int64
	var running sync.WaitGroup
	start := time.Now()
	for range callers {
		running.Go(func() {
			for n := next.Add(1); n <= int64(requests); n = next.Add(1) {
				if err := w.do(b.Context(), n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	return float64(time.Since(start)) / float64(requests)
}

func opened(b *testing.B, addr string, oneByOne bool) *redisstore.Store {
	client := redis.NewClient(redisstore.Options(addr))
	s, err := redisstore.New(client, redisstore.Config{Prefix: "cost:", OneByOne: oneByOne})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close(); _ = client.Close() })
	return s
}

// receipt is what the action returns.
var receipt = []byte(`{"charge":"ch_1","amount":100}`)

func charge(context.Context) ([]byte, error) { return receipt, nil }

func requested(b *testing.B) func(n int64) idempotency.Request {
	fp, err := idempotency.FingerprintJSON([]byte(`{"amount":100}`), "amount")
	if err != nil {
		b.Fatal(err)
	}
	return func(n int64) idempotency.Request {
		return idempotency.Request{Operation: "charge", Key: strconv.FormatInt(n, 10), Fingerprint: fp}
	}
}

func coordinated(b *testing.B, s *redisstore.Store) func(context.Context, int64) error {
	c, err := wait.New(s, clock.Real{}, reservation.Config{})
	if err != nil {
		b.Fatal(err)
	}
	request := requested(b)
	return func(ctx context.Context, n int64) error {
		out, err := c.Do(ctx, request(n), charge)
		if err == nil && (out.Source != idempotency.Executed || !out.Stored) {
			err = fmt.Errorf("request %d: %+v", n, out)
		}
		return err
	}
}

// floor claims and completes, with arguments as long as the coordinator's, and does
// nothing else.
func floor(b *testing.B, s *redisstore.Store) func(context.Context, int64) error {
	model := requested(b)(0)
	name, fingerprint := strings.TrimSuffix(model.StoredName(), "0"), model.Fingerprint.String()
	fingerprints := model.Fingerprint.All()
	token := strings.Repeat("t", len(rand.Text()))
	return func(ctx context.Context, n int64) error {
		name := name + strconv.FormatInt(n, 10)
		got, err := s.Claim(ctx, store.Claim{Name: name, Token: token, Fingerprint: fingerprint, Fingerprints: fingerprints,
			Lease: reservation.DefaultLease, Retention: reservation.DefaultRetention})
		if err != nil || !got.Mine {
			return fmt.Errorf("request %d: %+v, %w", n, got, err)
		}
		result, err := charge(ctx)
		if err != nil {
			return err
		}
		_, err = s.Settle(ctx, store.Settlement{Name: name, Token: token, To: store.Done, Result: result,
			Retention: reservation.DefaultRetention, Fingerprint: fingerprint})
		return err
	}
}
