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
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes one process's coordinator, with a store of its own.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	c := &corner{kv: kv}
	return plain.New(c, clk, cfg, plain.Parts{Claim: c.claim})
}
