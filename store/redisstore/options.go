package redisstore

import (
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// The settings of Options, each with its reason.
const (
	// DialTimeout: a server on this machine or in this network answers far sooner.
	DialTimeout = 500 * time.Millisecond
	// ReplyTimeout bounds one try whose caller has no deadline.
	ReplyTimeout = time.Second
	// PoolSize is not about load. The client stops dialling, for up to a second,
	// after as many failed dials as its pool is large; an outage in a scenario must
	// end when the server is back. Pipelines have a pool of their own, for which the
	// same holds.
	PoolSize = 256
)

// Options are a client's settings for a harness: one dial, one sending, the
// context's deadline obeyed, nothing sent but what was asked for. The client's
// defaults try a refused server 4 × 5 times (1.7 s a command), repeat commands
// whose reply was lost, and send an identity on every connection. Stores work
// with those too; a measurement does not.
func Options(addr string) *redis.Options {
	return &redis.Options{
		Addr:                     addr,
		MaxRetries:               -1,
		DialerRetries:            1,
		DialTimeout:              DialTimeout,
		ReadTimeout:              ReplyTimeout,
		WriteTimeout:             ReplyTimeout,
		PoolSize:                 PoolSize,
		PipelinePoolSize:         PoolSize,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// ClusterOptions is Options for a Redis Cluster. Redirections are followed, as
// they must be; nothing else is sent twice.
func ClusterOptions(addrs ...string) *redis.ClusterOptions {
	return &redis.ClusterOptions{
		Addrs:                    addrs,
		MaxRetries:               -1,
		DialerRetries:            1,
		DialTimeout:              DialTimeout,
		ReadTimeout:              ReplyTimeout,
		WriteTimeout:             ReplyTimeout,
		PoolSize:                 PoolSize,
		PipelinePoolSize:         PoolSize,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// Quiet stops the client library from writing its own log to stderr, for
// the whole process: the library knows no narrower way. Call it once, from main
// or from a TestMain, never from a library.
func Quiet() { logging.Disable() }
