package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/store/backend"
)

var (
	errStore   = errors.New("the store")
	errEmptied = errors.New("somebody emptied the store while the cell ran")
)

// sentinel is a key of the cell's that no coordinator knows, written past the
// proxy. If it is gone at the end, somebody has emptied the store, and the claims
// went with it: no coordinator can be blamed for what followed.
//
// It lies beside the cell's prefix, not under it: whoever lists the cell's records
// must not meet it, nor a coordinator's own way to end its leases.
type sentinel struct {
	backend *backend.Backend
	key     string
}

// sentinelOver is how much longer than its cell a sentinel lives if nobody takes
// it away.
const sentinelOver = time.Minute

// guard writes a sentinel for a cell of the run with that prefix; nil where the
// store has no wire, so that nobody else can reach it.
func guard(ctx context.Context, cfg Config, run string) (*sentinel, error) {
	c := cfg.Backend.Client("")
	if c == nil {
		return nil, nil
	}
	defer closeAtEnd(ctx, c)()
	s := &sentinel{cfg.Backend, run + "sentinel:" + rand.Text()}
	if err := c.Set(ctx, s.key, "1", cfg.timeout()+sentinelOver).Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errStore, err)
	}
	return s, nil
}

// relieve takes the sentinel away, and returns errEmptied if it was gone.
func (s *sentinel) relieve(ctx context.Context) error {
	if s == nil {
		return nil
	}
	if _, gone := storeGone(ctx); gone {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp) // an interrupted cell's too
	defer cancel()
	c := s.backend.Client("")
	defer closeAtEnd(ctx, c)()
	n, err := c.Del(ctx, s.key).Result()
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errStore, err)
	case n == 0:
		return errEmptied
	}
	return nil
}
