// Package replayisconflict answers "in progress" for a key that is finished.
//
// What is wrong: that the key exists is taken for "somebody is at work". The client
// whose answer was lost, for whom all this is made, retries until retention ends and
// is told each time to come back later. It never learns that it has paid.
//
// Seen in hono-idempotency, issue 92; django-idempotency-key.
//
// Right: look at the state. A finished key is answered with its result.
package replayisconflict

import (
	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	return plain.New(kv, clk, cfg, plain.Parts{Answer: answer})
}

func answer(a *plain.Attempt, v plain.Value, source idempotency.Source) (idempotency.Outcome, error) {
	v.State = store.Pending // whatever it is
	return a.Answer(v, source)
}
