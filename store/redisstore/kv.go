package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Get implements store.KV.
func (s *Store) Get(ctx context.Context, name string) (value []byte, found bool, err error) {
	text, err := plain(ctx, s, "get", name, func(ctx context.Context, to redis.Cmdable, key string) *redis.StringCmd {
		return to.Get(ctx, key)
	})
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return []byte(text), true, nil
}

// Set implements store.KV.
func (s *Store) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	_, err := plain(ctx, s, "set", name, func(ctx context.Context, to redis.Cmdable, key string) *redis.StatusCmd {
		return to.Set(ctx, key, value, ttl)
	})
	return err
}

// SetNX implements store.KV.
func (s *Store) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error) {
	return plain(ctx, s, "setnx", name, func(ctx context.Context, to redis.Cmdable, key string) *redis.BoolCmd {
		return to.SetNX(ctx, key, value, ttl)
	})
}

// Expire implements store.KV.
func (s *Store) Expire(ctx context.Context, name string, ttl time.Duration) error {
	_, err := plain(ctx, s, "expire", name, func(ctx context.Context, to redis.Cmdable, key string) *redis.BoolCmd {
		if ttl == 0 {
			return to.Persist(ctx, key)
		}
		return to.PExpire(ctx, key, ttl)
	})
	return err
}

// Delete implements store.KV.
func (s *Store) Delete(ctx context.Context, name string) error {
	_, err := plain(ctx, s, "delete", name, func(ctx context.Context, to redis.Cmdable, key string) *redis.IntCmd {
		return to.Del(ctx, key)
	})
	return err
}

// plain sends a command once: sending SET NX twice would not mean the same.
func plain[C interface {
	redis.Cmder
	Result() (T, error)
}, T any](ctx context.Context, s *Store, op, name string, build func(ctx context.Context, to redis.Cmdable, key string) C) (T, error) {
	key := s.prefix + name
	v, err := send(ctx, s, key, func(ctx context.Context, to redis.Cmdable) C { return build(ctx, to, key) })
	if err != nil && !errors.Is(err, redis.Nil) {
		err = unavailable(ctx, op, err)
	}
	return v, err
}
