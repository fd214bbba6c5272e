package redisstore_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/faultproxy"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// wiretap is a fault that does no harm: it notes what passes, by operation.
type wiretap struct {
	mu  sync.Mutex
	ops []string // "claim by EVAL"; "?" for what is no operation
}

func (w *wiretap) Pass(_ context.Context, c faultproxy.Chunk) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cmd := range c.Commands {
		if !faultproxy.Data(cmd.Name) {
			continue
		}
		op, ok := redisstore.WireOp(cmd.Name, cmd.Script, cmd.Args)
		if !ok {
			op = "?"
		}
		w.ops = append(w.ops, op+" by "+cmd.Name)
	}
	return c.Bytes, nil
}

func (w *wiretap) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ops := w.ops
	w.ops = nil
	return ops
}

// What a real client sends for each operation, the first time and the next.
func TestWireOp(t *testing.T) {
	for name, start := range map[string]func() string{
		"miniredis": func() string { return miniredis.RunT(t).Addr() },
		"redis":     func() string { return storetest.StartRedis(t) },
	} {
		t.Run(name, func(t *testing.T) {
			tap := &wiretap{}
			p, err := faultproxy.Listen(start(), faultproxy.WithFault(tap))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			o := redisstore.Options(p.Addr())
			o.ReadTimeout = time.Minute
			s := open(t, redis.NewClient(o), redisstore.Config{Prefix: "wire:"})
			for _, row := range wireRows(s) {
				for n, want := range row.want {
					row.do(t.Context(), strings.Repeat("k", n+1)) // a record of its own
					got := tap.take()
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s, time %d (-want +got):\n%s", row.name, n+1, diff)
					}
				}
			}
		})
	}
}

type wireRow struct {
	name string
	do   func(ctx context.Context, name string)
	want [2][]string
}

func wireRows(s *redisstore.Store) []wireRow {
	settle := func(to store.State) func(context.Context, string) {
		return func(ctx context.Context, name string) {
			_, _ = s.Settle(ctx, store.Settlement{Name: name, Token: "a", To: to, Retention: time.Hour})
		}
	}
	scripted := func(op string) [2][]string { return [2][]string{{op + " by EVAL"}, {op + " by EVALSHA"}} }
	both := func(op string) [2][]string { return [2][]string{{op}, {op}} }
	return []wireRow{
		{"claim", func(ctx context.Context, name string) { _, _ = s.Claim(ctx, claimOf(name, "a")) }, scripted("claim")},
		{"keep", func(ctx context.Context, name string) { keepOnce(ctx, s, name) }, scripted("renew")},
		{"complete", settle(store.Done), scripted("complete")},
		{"release", settle(store.Free), scripted("release")},
		{"unknown", settle(store.Unknown), scripted("unknown")},
		{"get", func(ctx context.Context, name string) { _, _, _ = s.Get(ctx, "p"+name) }, both("get by GET")},
		{"set", func(ctx context.Context, name string) { _ = s.Set(ctx, "p"+name, []byte("NX"), 0) }, both("set by SET")},
		{"set, expiring", func(ctx context.Context, name string) { _ = s.Set(ctx, "p"+name, []byte("NX"), time.Hour) }, both("set by SET")},
		{"setnx, expiring", func(ctx context.Context, name string) { _, _ = s.SetNX(ctx, "p"+name, nil, time.Hour) }, both("setnx by SET")},
		{"setnx, in milliseconds", func(ctx context.Context, name string) { _, _ = s.SetNX(ctx, "p"+name, nil, time.Hour+time.Millisecond) }, both("setnx by SET")},
		{"expire", func(ctx context.Context, name string) { _ = s.Expire(ctx, "p"+name, time.Hour) }, both("expire by PEXPIRE")},
		{"persist", func(ctx context.Context, name string) { _ = s.Expire(ctx, "p"+name, 0) }, both("expire by PERSIST")},
		{"delete", func(ctx context.Context, name string) { _ = s.Delete(ctx, "p"+name) }, both("delete by DEL")},
	}
}

// keepOnce renews once: Each tells of the first renewal, and no second comes.
func keepOnce(ctx context.Context, s *redisstore.Store, name string) {
	renewed := make(chan struct{})
	kept, stop := s.Keep(ctx, store.Renewal{
		Name: name, Token: "a", Lease: time.Hour, Every: time.Millisecond, MaxRun: time.Hour,
		Each: func(renew func() (bool, error)) (bool, error) {
			defer close(renewed)
			_, _ = renew()
			return false, nil // the claim is lost, so there is no second
		},
	})
	<-renewed
	<-kept.Done()
	stop()
}

func TestWireOpOfOthers(t *testing.T) {
	for _, row := range []struct {
		command, script string
		args            []string
		op              string
		reason          string
	}{
		{"SETNX", "", []string{"k", "v"}, "setnx", "the old form"},
		{"SET", "", []string{"k", "v", "nx", "GET", "PX", "100"}, "setnx", "options come in any order and case"},
		{"SET", "", []string{"NX", "NX"}, "set", "a key and a value may read like an option"},
		{"SET", "", nil, "set", "the server refuses it, but it is no other"},
		{"UNLINK", "", []string{"k"}, "delete", "the other way to delete"},
		{"EXPIRE", "", []string{"k", "1"}, "expire", "in seconds"},
		{"EVAL", "", nil, "", "no script at all"},
		{"EVALSHA", strings.Repeat("a", 40), nil, "", "somebody else's script"},
		{"INCR", "", []string{"k"}, "", "no operation of the ports"},
		{"PUBLISH", "", []string{"c", "m"}, "", "a message"},
	} {
		op, ok := redisstore.WireOp(row.command, row.script, row.args)
		if op != row.op || ok != (row.op != "") {
			t.Errorf("%s %q: %q, %v; want %q: %s", row.command, row.args, op, ok, row.op, row.reason)
		}
	}
}
