package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
)

// Records implements store.Inspector; they come in the order of their names.
// Each record is read in one step, the whole list is not: records that come and
// go meanwhile may be listed or not.
func (s *Store) Records(ctx context.Context) ([]store.Record, error) {
	var records []store.Record
	_, err := s.each(ctx, "inspect", func(ctx context.Context, f found) (bool, error) {
		records = append(records, f.record)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// found is what look.lua saw under a name.
type found struct {
	record store.Record
	plain  bool   // a value of KV
	value  string // plain only
}

// each looks at everything under the prefix and counts those of which visit says
// true.
func (s *Store) each(ctx context.Context, op string, visit func(context.Context, found) (bool, error)) (int, error) {
	names, err := s.listed(ctx, op)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, name := range names {
		f, there, err := s.look(ctx, name)
		if err != nil {
			return n, unavailable(ctx, op, err)
		}
		if !there {
			continue
		}
		counts, err := visit(ctx, f)
		if err != nil {
			return n, unavailable(ctx, op, err)
		}
		n += flag(counts)
	}
	return n, nil
}

func (s *Store) look(ctx context.Context, name string) (f found, there bool, err error) {
	reply, err := s.call(ctx, s.scripts.look, name)
	if err != nil {
		return f, false, err
	}
	parts, _ := reply.([]any)
	if len(parts) < 3 {
		return f, false, nil // gone meanwhile, or neither a record nor a value of ours
	}
	if parts[0] == "string" {
		f.plain = true
		f.value, _ = parts[2].(string)
		f.record = plainRecord(name, f.value)
	} else {
		fields, err := texts(parts[2])
		if err != nil {
			return f, false, err
		}
		if f.record, err = parseRecord(name, fields); err != nil {
			return f, false, err
		}
	}
	ms, ok := parts[1].(int64)
	if !ok {
		return f, false, fmt.Errorf("%w: %T for an expiry", errReply, parts[1])
	}
	f.record.ExpiresIn = expiresIn(ms)
	if f.plain && f.record.State == store.Pending && ms > 0 {
		f.record.LeaseLeft = f.record.ExpiresIn // the only lease that a plain value has
	}
	return f, true, nil
}

func plainRecord(name, value string) store.Record {
	r := store.Record{Name: name, State: store.ValueState([]byte(value))}
	if r.State == store.Done {
		r.Result = []byte(value)
	}
	return r
}

// expiresIn reads PTTL: -1 means never, which is any negative duration.
func expiresIn(ms int64) time.Duration {
	if ms < 0 {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}

func (s *Store) listed(ctx context.Context, op string) ([]string, error) {
	names, err := interruptible(ctx, s.names)
	if err != nil {
		return nil, unavailable(ctx, op, err)
	}
	return names, nil
}

// names lists what lies under the prefix, on every master of a cluster.
func (s *Store) names(ctx context.Context) ([]string, error) {
	var mu sync.Mutex
	names := map[string]bool{} // SCAN may say a key twice
	scan := func(ctx context.Context, node redis.Cmdable) error {
		keys := node.Scan(ctx, 0, globLiteral(s.prefix)+"*", 1000).Iterator()
		for keys.Next(ctx) {
			mu.Lock()
			names[strings.TrimPrefix(keys.Val(), s.prefix)] = true
			mu.Unlock()
		}
		return keys.Err()
	}
	var err error
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return scan(ctx, node) })
	} else {
		err = scan(ctx, s.client)
	}
	return slices.Sorted(maps.Keys(names)), err
}

// globLiteral makes MATCH take every sign of the prefix for itself.
func globLiteral(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}
