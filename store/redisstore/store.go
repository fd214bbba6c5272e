// Package redisstore keeps records in Redis: one hash for each record, one Lua
// script for each operation (folder lua), one key for each call. It runs on
// Redis 6.2 and later, also as a Redis Cluster.
//
// Time is the server's, read inside the script; no two machines' clocks are
// compared. A lost reply is made good by sending the same operation with the
// same token again. Waiting sends nothing: see inbox.go.
//
// The package refuses to guess: what the server did not confirm is an error that
// wraps store.ErrUnavailable, never "absent" and never "done". It reads no
// environment and changes no global of the client library by itself.
//
// # Pipelines
//
// Concurrent callers of one store share pipelines, so that their number is not
// bound by one round trip each. Nobody waits for company: a command that comes
// while few others are under way goes out at once, by itself; those that come
// meanwhile go together. Each has its own reply or error and its own context: who
// leaves, leaves alone, and what he had sent may have been applied, as ever. A
// command counts one, in whatever it travels. In a cluster each master has
// pipelines of its own.
//
// What they share is the connection. When it breaks, all who were on it have lost
// their replies: operations are sent again, plain commands (store.KV) are
// store.ErrUnavailable, though some may have been applied. When it hangs, those on it
// hang until the client's time-out or their own; others go past it after 50 ms.
// A client that repeats commands by itself repeats a whole pipeline.
// Config.OneByOne turns this off.
//
// # Rights on the server
//
// A user with an ACL needs the keys and the channels under the prefix
// (~prefix*, &prefix*) and the commands EVAL, EVALSHA, SUBSCRIBE and PING, and
// in scripts TIME, HGETALL, HSET, HDEL, PEXPIRE, PTTL and PUBLISH. A missing
// right is an error like any other.
package redisstore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
)

// Config of a Store. Prefix has no default; the zero value of all else works.
type Config struct {
	// Prefix stands before every key and every channel. Everything under it
	// belongs to the stores that share it, and Purge deletes all of it, so it must
	// not be empty nor the beginning of anybody else's.
	Prefix string
	// Retry is for the operations of store.Store, which may be repeated. Plain
	// commands (store.KV) are sent once.
	Retry Retry
	// OneByOne has every command make a round trip of its own, on a connection of its
	// own. Otherwise concurrent callers share pipelines: see the package comment.
	OneByOne bool
	// OnTry is told of every try of an operation of store.Store, before the next
	// one starts. It must not block.
	OnTry func(Try)
}

// Retry bounds the tries of one operation. Only connection errors are tried
// again: what the server answered is an answer.
type Retry struct {
	Tries  int           // 0 means DefaultTries
	Pause  time.Duration // before the second try, doubled for each further one; 0 means DefaultPause
	Within time.Duration // the whole operation, whatever the client's own time-outs; 0 means DefaultWithin
}

// Defaults, each with its reason.
const (
	// DefaultTries: one lost reply, and one more for the connection that the
	// pool hands out next and that broke with it.
	DefaultTries = 3
	// DefaultPause: a server that refuses connections is known to be down after
	// 15 ms in all; a caller who fails open must not be slowed down.
	DefaultPause = 5 * time.Millisecond
	// DefaultWithin is well under any lease, and two tries of a harness client
	// whose replies are held back (see ReplyTimeout).
	DefaultWithin = 2 * time.Second
)

// Try is one try of one operation.
type Try struct {
	Op     string // claim, complete, release, unknown or renew
	Name   string // the record's
	Number int    // 1 is the first
	Err    error  // nil: the server answered
}

// Store implements store.Store, store.KV, store.Inspector and store.Controller.
// It is safe for concurrent use. Close ends its subscription.
type Store struct {
	client  redis.UniversalClient
	prefix  string
	retry   Retry
	onTry   func(Try)
	scripts scripts
	batches *batches // nil: one by one
	inbox   *inbox
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.KV         = (*Store)(nil)
	_ store.Inspector  = (*Store)(nil)
	_ store.Controller = (*Store)(nil)
)

// New returns a store that works through client, a *redis.Client or a
// *redis.ClusterClient, which stays the caller's to close. Nothing is sent yet.
// A *redis.Ring is refused: its shards do not hear each other's messages.
func New(client redis.UniversalClient, cfg Config) (*Store, error) {
	if client == nil {
		return nil, errors.New("redisstore: no client")
	}
	if _, ring := client.(*redis.Ring); ring {
		return nil, errors.New("redisstore: a redis.Ring cannot carry notices between shards; use a cluster or one server")
	}
	if cfg.Prefix == "" {
		return nil, errors.New("redisstore: Config.Prefix is empty, so that Purge would delete everything")
	}
	if cfg.Retry.Tries < 0 || cfg.Retry.Pause < 0 || cfg.Retry.Within < 0 {
		return nil, fmt.Errorf("redisstore: Config.Retry is negative: %+v", cfg.Retry)
	}
	s := &Store{
		client:  client,
		prefix:  cfg.Prefix,
		retry:   cfg.Retry.withDefaults(),
		onTry:   cfg.OnTry,
		scripts: newScripts(),
		inbox:   newInbox(client, cfg.Prefix, cfg.Prefix+"inbox:"+rand.Text()),
	}
	if !cfg.OneByOne {
		s.batches = newBatches(client)
	}
	return s, nil
}

// Close ends the subscription and wakes every waiter. It does not close the
// client, and leaves every record where it is.
func (s *Store) Close() error {
	s.inbox.close()
	return nil
}

func (r Retry) withDefaults() Retry {
	if r.Tries == 0 {
		r.Tries = DefaultTries
	}
	if r.Pause == 0 {
		r.Pause = DefaultPause
	}
	if r.Within == 0 {
		r.Within = DefaultWithin
	}
	return r
}

// millis rounds up, so that no lease and no retention is shorter than asked for.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
