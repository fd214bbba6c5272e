package coordinator

import (
	"context"
	"errors"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/redis/go-redis/v9"
)

// Naive is what is written first: look the key up, else act and store. Every answer
// looks right. It is here to be caught.
type Naive struct {
	rdb redis.UniversalClient
	cfg Config
}

// NewNaive makes one.
func NewNaive(rdb redis.UniversalClient, cfg Config) *Naive { return &Naive{rdb, cfg} }

// Do implements idempotency.Coordinator, but does not keep its promise.
func (c *Naive) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	name := c.cfg.Prefix + req.StoredName()
	result, err := c.rdb.Get(ctx, name).Bytes()
	if err == nil {
		return idempotency.Outcome{Result: result, Source: idempotency.Replayed, Stored: true}, nil
	}
	if !errors.Is(err, redis.Nil) {
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	if result, err = act(ctx); err != nil {
		return idempotency.Outcome{}, err
	}
	err = c.rdb.Set(ctx, name, result, c.cfg.Retention).Err()
	return idempotency.Outcome{Result: result, Source: idempotency.Executed, Stored: err == nil}, nil
}
