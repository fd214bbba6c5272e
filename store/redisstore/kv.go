package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Get implements store.KV.
func (s *Store) Get(ctx context.Context, name string) (value []byte, found bool, err error) {
	value, err = plain(ctx, "get", func(ctx context.Context) ([]byte, error) {
		return s.client.Get(ctx, s.prefix+name).Bytes()
	})
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// Set implements store.KV.
func (s *Store) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	_, err := plain(ctx, "set", func(ctx context.Context) (string, error) {
		return s.client.Set(ctx, s.prefix+name, value, ttl).Result()
	})
	return err
}

// SetNX implements store.KV.
func (s *Store) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error) {
	return plain(ctx, "setnx", func(ctx context.Context) (bool, error) {
		return s.client.SetNX(ctx, s.prefix+name, value, ttl).Result()
	})
}

// Expire implements store.KV.
func (s *Store) Expire(ctx context.Context, name string, ttl time.Duration) error {
	_, err := plain(ctx, "expire", func(ctx context.Context) (bool, error) {
		if ttl == 0 {
			return s.client.Persist(ctx, s.prefix+name).Result()
		}
		return s.client.PExpire(ctx, s.prefix+name, ttl).Result()
	})
	return err
}

// Delete implements store.KV.
func (s *Store) Delete(ctx context.Context, name string) error {
	_, err := plain(ctx, "delete", func(ctx context.Context) (int64, error) {
		return s.client.Del(ctx, s.prefix+name).Result()
	})
	return err
}

// plain sends a command once: sending SET NX twice would not mean the same.
func plain[T any](ctx context.Context, op string, command func(context.Context) (T, error)) (T, error) {
	v, err := interruptible(ctx, command)
	if err != nil && !errors.Is(err, redis.Nil) {
		err = unavailable(ctx, op, err)
	}
	return v, err
}
