package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// send has the client send one command, which build makes, and returns its
// reply: in a batch with those of other callers, or by itself if Config says so. It
// returns when the context ends; whether the command was applied is then unknown,
// as after any lost reply.
func send[C interface {
	redis.Cmder
	Result() (T, error)
}, T any](ctx context.Context, s *Store, key string, build func(context.Context, redis.Cmdable) C) (T, error) {
	if s.batches == nil {
		return interruptible(ctx, func(ctx context.Context) (T, error) { return build(ctx, s.client).Result() })
	}
	cmd := build(ctx, s.client.Pipeline()) // noted, and not sent: only the batch is
	if err := s.batches.send(ctx, key, cmd); err != nil {
		var none T
		return none, err // the reply may still be on its way: cmd is not ours to read
	}
	return cmd.Result()
}

// interruptible returns when the context ends, although the client may be
// reading a reply that the server holds back: it looks at a context's deadline
// at best, never at its cancellation. The call then ends by the client's own
// time-out, and its reply is dropped; that is no other than a lost reply.
func interruptible[T any](ctx context.Context, once func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if ctx.Done() == nil {
		return once(ctx)
	}
	type result struct {
		reply T
		err   error
	}
	results := make(chan result, 1)
	go func() {
		reply, err := once(ctx)
		results <- result{reply, err}
	}()
	select {
	case r := <-results:
		return r.reply, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
