package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
)

// repeat runs an operation that may be repeated: again, with the same
// arguments, as long as the connection fails and the Retry allows.
func (s *Store) repeat(ctx context.Context, op, name string, once func(context.Context) (any, error)) (any, error) {
	bounded, cancel := context.WithTimeout(ctx, s.retry.Within)
	defer cancel()
	pause := s.retry.Pause
	for n := 1; ; n++ {
		reply, err := once(bounded)
		if s.onTry != nil {
			s.onTry(Try{Op: op, Name: name, Number: n, Err: err})
		}
		if err == nil {
			return reply, nil
		}
		if answered(err) || n == s.retry.Tries || !sleep(bounded, pause) {
			return nil, unavailable(ctx, op, err)
		}
		pause *= 2
	}
}

// call sends a script for one record, once. EVAL leaves the script on the
// server, so only the first call sends its text; NOSCRIPT (a restarted server,
// another node of a cluster) sends it again.
func (s *Store) call(ctx context.Context, sc *script, name string, args ...any) (any, error) {
	key := s.prefix + name
	if sc.sent.Load() {
		reply, err := send(ctx, s, key, func(ctx context.Context, to redis.Cmdable) *redis.Cmd {
			return to.EvalSha(ctx, sc.sha, []string{key}, args...)
		})
		if !redis.HasErrorPrefix(err, "NOSCRIPT") {
			return reply, err
		}
	}
	reply, err := send(ctx, s, key, func(ctx context.Context, to redis.Cmdable) *redis.Cmd {
		return to.Eval(ctx, sc.source, []string{key}, args...)
	})
	if err == nil {
		sc.sent.Store(true)
	}
	return reply, err
}

// answered reports whether err is the server's own answer, so that asking again
// at once is of no use. A closed store or client is final too.
func answered(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) || errors.Is(err, redis.ErrClosed) || errors.Is(err, errClosed)
}

// unavailable makes every failure store.ErrUnavailable, or the context's error
// if that has ended.
func unavailable(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if misuse(err) {
		err = misused{err}
	}
	return fmt.Errorf("%w: redis: %s: %w", store.ErrUnavailable, op, err)
}

// misused is a server's answer that is store.ErrMisuse as well.
type misused struct{ error }

func (m misused) Unwrap() error        { return m.error }
func (m misused) Is(target error) bool { return target == store.ErrMisuse }

// misuse reports whether a server that is well refused what it was asked. The
// words are Redis' own; a script's error repeats those of the command in it
// (Redis 6.2 behind "ERR Error running script"), so they are looked for anywhere.
func misuse(err error) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	text := reply.Error()
	for _, away := range []string{"OOM ", "READONLY", "LOADING", "MISCONF", "MASTERDOWN", "CLUSTERDOWN", "NOREPLICAS",
		"max number of clients", "can't run this command"} {
		if strings.Contains(text, away) {
			return false
		}
	}
	for _, refused := range []string{"WRONGTYPE", "ERR ", "CROSSSLOT", "NOSCRIPT"} {
		if strings.HasPrefix(text, refused) {
			return true
		}
	}
	return false
}

// sleep reports whether the pause ended before the context.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
