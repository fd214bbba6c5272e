// Package truncateskeys waits as wait does, and cuts a key at the width of its
// column.
//
// What is wrong: keys that differ only after the cut are one key. The second
// customer is answered with the first one's receipt, or refused for a reuse that
// was none.
//
// Seen as a class, with MySQL columns: without strict mode they cut in silence.
//
// Right: refuse a key that is too long. Never shorten one.
package truncateskeys

import (
	"context"
	"strings"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// Width of the column, in characters.
const Width = 64

// Coordinator is wait with the stored key replaced.
type Coordinator struct{ core *reservation.Coordinator }

// New makes the coordinator.
func New(s store.Store, clk clock.Clock, cfg reservation.Config) (*Coordinator, error) {
	cfg = cfg.WithPolicies(reservation.FailOpen, reservation.Release)
	core, err := reservation.New(s, clk, reservation.DuplicatesWait, cfg)
	return &Coordinator{core}, err
}

// Do handles the request under what fits of its key. Blanks at the cut are lost,
// as in a CHAR column.
func (c *Coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if key := []rune(req.Key); len(key) > Width {
		req.Key = strings.TrimSpace(string(key[:Width]))
	}
	return c.core.Do(ctx, req, act)
}
