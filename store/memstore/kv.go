package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Get implements store.KV.
func (s *Store) Get(ctx context.Context, name string) (value []byte, found bool, err error) {
	err = s.plain(ctx, name, func(e *entry, _ time.Time) error {
		if e == nil {
			return nil
		}
		if !e.plain {
			return errKind
		}
		value, found = slices.Clone(e.record.Result), true
		return nil
	})
	return value, found, err
}

// Set implements store.KV. As in Redis it replaces whatever lies there.
func (s *Store) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	return s.plain(ctx, name, func(_ *entry, now time.Time) error {
		s.put(name, value, ttl, now)
		return nil
	})
}

// SetNX implements store.KV.
func (s *Store) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (set bool, err error) {
	err = s.plain(ctx, name, func(e *entry, now time.Time) error {
		if e == nil {
			s.put(name, value, ttl, now)
			set = true
		}
		return nil
	})
	return set, err
}

// Expire implements store.KV. An absent name is left absent. As in Redis it
// does not ask what kind of value lies there.
func (s *Store) Expire(ctx context.Context, name string, ttl time.Duration) error {
	return s.plain(ctx, name, func(e *entry, now time.Time) error {
		if e != nil {
			e.expires = expiry(now, ttl)
		}
		return nil
	})
}

// Delete implements store.KV.
func (s *Store) Delete(ctx context.Context, name string) error {
	return s.plain(ctx, name, func(*entry, time.Time) error {
		delete(s.entries, name)
		return nil
	})
}

// plain runs one plain command under the lock.
func (s *Store) plain(ctx context.Context, name string, command func(*entry, time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clk.Now()
	return command(s.find(name, now), now)
}

func (s *Store) put(name string, value []byte, ttl time.Duration, now time.Time) {
	s.entries[name] = &entry{
		plain:   true,
		record:  store.Record{Name: name, State: store.ValueState(value), Result: slices.Clone(value)},
		expires: expiry(now, ttl),
	}
}

// expiry reads a ttl of 0 as "never", which is the zero time.
func expiry(now time.Time, ttl time.Duration) time.Time {
	if ttl == 0 {
		return time.Time{}
	}
	return now.Add(ttl)
}
