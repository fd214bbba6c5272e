// Package perprocessstore gives each worker a store of its own.
//
// What is wrong: the default backend, a map in memory or a file beside the program,
// went into production, where there are several workers. Each one handles each
// request once. A retry that reaches another worker is a new request to it, however
// long ago the first was answered.
//
// Seen in adcp, issue 2346.
//
// The worker's own store is here a corner of the shared one that no other worker
// looks into. It behaves as a map would, but can be inspected, its leases can be
// ended, and it can fail, so that a scenario shows this fault and no other.
//
// Right: one store for all workers; and a test with two of them.
package perprocessstore

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes one process's coordinator, with a store of its own.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	if cfg.NewToken == nil {
		cfg.NewToken = rand.Text
	}
	return plain.New(corner{kv, cfg.NewToken() + "/"}, clk, cfg, plain.Parts{})
}

// corner is the names that begin with a word which only one process knows.
type corner struct {
	kv   store.KV
	word string
}

func (c corner) Get(ctx context.Context, name string) (value []byte, found bool, err error) {
	return c.kv.Get(ctx, c.word+name)
}

func (c corner) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	return c.kv.Set(ctx, c.word+name, value, ttl)
}

func (c corner) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error) {
	return c.kv.SetNX(ctx, c.word+name, value, ttl)
}

func (c corner) Expire(ctx context.Context, name string, ttl time.Duration) error {
	return c.kv.Expire(ctx, c.word+name, ttl)
}

func (c corner) Delete(ctx context.Context, name string) error {
	return c.kv.Delete(ctx, c.word+name)
}
