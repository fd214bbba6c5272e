// Package emptyreplay gives back nothing for a result.
//
// What is wrong: the replay says that all went well, and is empty: the body had
// been streamed to the first client before it could be kept, or the stored value is
// read into the wrong member. The customer has paid, and the retry does not learn
// which charge it was.
//
// Seen in grape-idempotency, issue 7; bright-room/idem (a streamed body).
//
// Right: keep the result byte for byte before the first client sees it, and compare
// the replay with it in a test.
package emptyreplay

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
	out, err := a.Answer(v, source)
	out.Result = nil
	return out, err
}
