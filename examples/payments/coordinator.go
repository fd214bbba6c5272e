package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
	"github.com/idemrace/idemrace/store/redisstore"
)

// patience is how long the store may take. A machine that is stalled must not be
// taken for a store that is down: who fails open would charge without protection.
const patience = 10 * time.Second

// ports are the store as coordinators use it, whichever way they do.
type ports interface {
	store.Store
	store.KV
}

// coordinate makes the coordinator, and closeAll, which ends what it stands on.
func coordinate(set setting, log *slog.Logger) (c idempotency.Coordinator, closeAll func(), err error) {
	var ends []func()
	closeAll = func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	prefix := "payments:" + set.entry.Name + ":" // coordinators do not read each other's records
	port, end, err := openStore(set.redis, prefix)
	if err != nil {
		return nil, nil, err
	}
	ends = append(ends, end)
	config := set.config
	config.Logger = log
	config.OnOrphan = func(ctx context.Context, o idempotency.Orphan) {
		log.ErrorContext(ctx, "a charge that no answer names: void it", "operation", o.Request.Operation, "answer", string(o.Result), "stands", string(o.Stands))
	}
	c, err = set.entry.New(impl.Env{
		Store: port, KV: port, Clock: clock.Real{}, Config: config, HonoursKeys: set.honoursKeys,
		RedisURL: set.redis, Prefix: prefix, Cleanup: func(end func()) { ends = append(ends, end) },
	})
	if err != nil {
		closeAll()
		return nil, nil, fmt.Errorf("coordinator %s: %w", set.entry.Name, err)
	}
	return c, closeAll, nil
}

// openStore opens the Redis at the URL, or memory, which one worker alone has. It
// sends nothing yet: a service may start before its store.
func openStore(url, prefix string) (ports, func(), error) {
	if url == "" {
		return memstore.New(clock.Real{}), func() {}, nil
	}
	theirs, err := redis.ParseURL(url)
	if err != nil {
		return nil, nil, errors.New("REDIS_URL is no URL of a Redis") // the error may hold its password
	}
	options := redisstore.Options(theirs.Addr)
	options.Network, options.Username, options.Password = theirs.Network, theirs.Username, theirs.Password
	options.DB, options.TLSConfig = theirs.DB, theirs.TLSConfig
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = patience, patience, patience
	client := redis.NewClient(options)
	s, err := redisstore.New(client, redisstore.Config{Prefix: prefix, Retry: redisstore.Retry{Within: patience}})
	if err != nil {
		_ = client.Close()
		return nil, nil, err
	}
	return s, func() {
		_ = s.Close()
		_ = client.Close()
	}, nil
}
