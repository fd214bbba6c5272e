package runner_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/store/backend"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// The requests of a load share pipelines, unless it is told otherwise: then the
// server reads at least once for each command that it is sent.
func TestALoadSharesPipelines(t *testing.T) {
	addr := storetest.StartRedis(t)
	admin := redis.NewClient(redisstore.Options(addr))
	defer admin.Close()
	b, err := backend.Open(t.Context(), backend.Spec{Name: "redis://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	entry, ok := impl.Lookup("wait")
	if !ok {
		t.Fatal("no wait")
	}
	for _, oneByOne := range []bool{false, true} {
		before := reads(t.Context(), t, admin)
		var inLoad int64
		r, err := runner.Load(t.Context(), runner.LoadConfig{
			Entry: entry, Backend: b, OneByOne: oneByOne,
			Plan: load.Plan{Seed: 1, Pace: load.Clients(50), Requests: 2000, For: time.Minute},
		})
		inLoad = reads(t.Context(), t, admin) - before
		if err != nil || r.Verdicts.Ledger.Doubles != 0 {
			t.Fatalf("%+v, %v", r.Verdicts, err)
		}
		// What purges the records afterwards is counted with them, and is one by one.
		if shares := inLoad < int64(r.Commands); shares == oneByOne {
			t.Errorf("one by one %v: %d reads for %d commands", oneByOne, inLoad, r.Commands)
		}
	}
}

// reads is how often the server has read from its connections.
func reads(ctx context.Context, t *testing.T, admin *redis.Client) int64 {
	info, err := admin.InfoMap(ctx, "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(info["Stats"]["total_reads_processed"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
