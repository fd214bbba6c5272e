// Package claimoverwrites claims with a plain SET.
//
// What is wrong: the marker that says "processing" is written whatever stands
// there. A second request looks for a result, finds none, and its claim replaces
// the first one's; the first one's result is then written over the second one's
// claim. No command fails and nobody gets an error: both charge, and both are
// answered with a charge of their own. Since every claim is everybody's, it is no
// use to look whose it is before the result is stored. Nor is there a second layer:
// no key is handed on to the provider, to which two calls are two orders.
//
// Seen in idempot-js, issue 182.
//
// Right: SET NX, whose reply says who has won; and whoever has lost looks at what
// stands there.
package claimoverwrites

import (
	"context"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes the coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	return plain.New(kv, clk, cfg, plain.Parts{Claim: claim, ProviderKey: none, Complete: complete})
}

func claim(ctx context.Context, a *plain.Attempt) (*plain.Value, error) {
	stands, err := a.Read(ctx)
	if err != nil || stands != nil && stands.State == store.Done {
		return stands, err
	}
	return nil, a.Put(ctx, a.Pending(), a.Config.Lease)
}

func none(*plain.Attempt) string { return "" }

func complete(ctx context.Context, a *plain.Attempt, result []byte) (*plain.Value, error) {
	return nil, a.Put(ctx, a.Done(result), a.Config.Retention)
}
