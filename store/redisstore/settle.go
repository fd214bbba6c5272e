package redisstore

import (
	"context"
	"fmt"

	"github.com/idemrace/idemrace/store"
)

// Settle implements store.Store.
func (s *Store) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	sc, args, err := s.settlement(t)
	if err != nil {
		return store.Settled{}, err
	}
	reply, err := s.repeat(ctx, sc.op, t.Name, func(ctx context.Context) (any, error) {
		return s.call(ctx, sc, t.Name, args...)
	})
	if err != nil {
		return store.Settled{}, err
	}
	flags, record, err := parseReply(t.Name, reply, 1)
	if err != nil {
		return store.Settled{}, unavailable(ctx, sc.op, err)
	}
	return store.Settled{Applied: flags[0] == 1, Record: record}, nil
}

// settlement picks the script and lays out its ARGV.
func (s *Store) settlement(t store.Settlement) (*script, []any, error) {
	switch t.To {
	case store.Done:
		return s.scripts.complete, []any{t.Token, millis(t.Retention), string(t.Form), t.Result, t.Fingerprint}, nil
	case store.Free:
		return s.scripts.release, []any{t.Token, millis(t.Retention), flag(t.NoEffect), t.Failure}, nil
	case store.Unknown:
		return s.scripts.unknown, []any{t.Token, millis(t.Retention), t.Failure}, nil
	default:
		return nil, nil, fmt.Errorf("%w: cannot settle to state %q: %w", store.ErrUnavailable, t.To, store.ErrMisuse)
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
