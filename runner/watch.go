package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store/backend"
)

var (
	errStoreDied   = errors.New("the store died during the run")
	errStoreSilent = errors.New("the store does not answer")
)

// The watch asks every pingEvery, past every proxy, and gives up after so many
// questions in a row without an answer: three seconds at least. A loaded machine
// stalls for less; and what is stalled but comes back is only noted.
const (
	pingEvery  = time.Second
	pingWithin = time.Second
	pingMisses = 3
)

// watch looks after the run's store.
type watch struct {
	backend *backend.Backend
	missed  atomic.Int64 // questions without an answer so far
}

// died ends the run when a private server's process has ended.
func (w *watch) died(ctx context.Context, giveUp context.CancelCauseFunc) {
	select {
	case <-w.backend.Died():
		giveUp(errStoreDied)
	case <-ctx.Done():
	}
}

// obituary is how long a cell that met a failing store waits for the news that the
// server has died: the connection breaks a moment earlier.
const obituary = 200 * time.Millisecond

// explain returns why, or that the store has died, if it has.
func (w *watch) explain(why string) string {
	if w.backend.Died() == nil {
		return why
	}
	t := time.NewTimer(obituary)
	defer t.Stop()
	select {
	case <-w.backend.Died():
		return errStoreDied.Error()
	case <-t.C:
		return why
	}
}

// silent ends the run when the store no longer answers: a frozen server, or one
// that is not ours and has ended. Whoever asks it would wait for ten seconds each
// time, and every verdict would be about that.
func (w *watch) silent(ctx context.Context, giveUp context.CancelCauseFunc) {
	c := w.backend.Client("")
	if c == nil {
		return
	}
	defer closeAtEnd(ctx, c)()
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for misses := 0; misses < pingMisses; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if pong(ctx, c) {
			misses = 0
			continue
		}
		misses++
		w.missed.Add(1)
	}
	giveUp(errStoreSilent)
}

// pong: any reply will do, an error too.
func pong(ctx context.Context, c redis.UniversalClient) bool {
	ctx, cancel := context.WithTimeout(ctx, pingWithin)
	defer cancel()
	err := c.Ping(ctx).Err()
	var reply redis.Error
	return err == nil || errors.As(err, &reply)
}

// closeAtEnd closes c when ctx ends, since a client that reads does not look at its
// context; or when the returned function is called.
func closeAtEnd(ctx context.Context, c redis.UniversalClient) (end func()) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	return func() {
		stop()
		_ = c.Close() // closing twice is no harm
	}
}

// storeGone reports whether the run was given up because of its store, and why.
func storeGone(ctx context.Context) (why error, gone bool) {
	for _, why := range []error{errStoreDied, errStoreSilent} {
		if errors.Is(context.Cause(ctx), why) {
			return why, true
		}
	}
	return nil, false
}
