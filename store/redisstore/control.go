package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
)

// EndLeases implements store.Controller.
func (s *Store) EndLeases(ctx context.Context) (int, error) { return s.endLeases(ctx, true, nil) }

// Lapse ends what EndLeases ends, but for the records of those names, and as the clock
// does, of which no waiter hears: for those whose waiters go by another clock.
func (s *Store) Lapse(ctx context.Context, but []string) (int, error) {
	return s.endLeases(ctx, false, but)
}

func (s *Store) endLeases(ctx context.Context, nudge bool, but []string) (int, error) {
	return s.each(ctx, "end leases", func(ctx context.Context, f found) (bool, error) {
		switch {
		case slices.Contains(but, f.record.Name):
			return false, nil
		case f.plain && f.record.State == store.Pending:
			return s.changed(ctx, s.scripts.expire, f.record.Name, f.value, 0)
		case f.plain:
			return false, nil
		default:
			return s.changed(ctx, s.scripts.endlease, f.record.Name, flag(nudge))
		}
	})
}

// SetExpiry implements store.Controller.
func (s *Store) SetExpiry(ctx context.Context, d time.Duration) (int, error) {
	return s.each(ctx, "set expiry", func(ctx context.Context, f found) (bool, error) {
		switch {
		case f.record.State != store.Done:
			return false, nil
		case f.plain:
			return s.changed(ctx, s.scripts.expire, f.record.Name, f.value, millis(d))
		default:
			return s.changed(ctx, s.scripts.retain, f.record.Name, millis(d))
		}
	})
}

// purgeAtOnce bounds a pipeline of deletions: all of it has the time of one reply, and a
// server answers nobody else meanwhile.
const purgeAtOnce = 50

// Purge implements store.Controller. Each key has a command of its own, for on a cluster
// one for several would have to find them all in one slot.
func (s *Store) Purge(ctx context.Context) (int, error) {
	names, err := s.listed(ctx, "purge")
	n := 0
	for some := range slices.Chunk(names, purgeAtOnce) {
		gone, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, name := range some {
				p.Del(ctx, s.prefix+name)
			}
			return nil
		})
		for _, cmd := range gone {
			n += int(cmd.(*redis.IntCmd).Val())
		}
		if err != nil {
			return n, unavailable(ctx, "purge", err)
		}
	}
	return n, err
}

// changed calls a script that answers 1 if it changed the record.
func (s *Store) changed(ctx context.Context, sc *script, name string, args ...any) (bool, error) {
	reply, err := s.call(ctx, sc, name, args...)
	return reply == int64(1), err
}
