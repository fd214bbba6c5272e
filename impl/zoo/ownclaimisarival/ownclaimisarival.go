// Package ownclaimisarival does not know its own claim again.
//
// What is wrong: the claim is applied and its reply is lost. The claim is sent once
// more, as client libraries do of themselves, and meets the first one: "in
// progress" is the answer. But nobody is at work, and nobody will be until the
// lease ends.
//
// Seen in idempot-js, issue 185; simstudioai/sim, pull request 6864.
//
// Right: a token, unique to the attempt, in the claim. Who finds its own token has
// won.
package ownclaimisarival

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	return plain.New(kv, clk, cfg, plain.Parts{Claim: claim})
}

func claim(ctx context.Context, a *plain.Attempt) (*plain.Value, error) {
	return a.TryClaim(ctx, a.Pending(), a.Config.Lease)
}
