// Package providerhttp is the fake provider as an HTTP server: a plain JSON API,
// and Stripe's, so that a service which uses Stripe's libraries only changes its
// API base.
//
// It refuses to decide whose a call is: the Desk does, by what the request holds
// besides its key. And it refuses what it does not know with an error that says so:
// a service must not take a typing error for a charge.
package providerhttp

import (
	"context"
	"net/http"

	"github.com/idemrace/idemrace/fakeprovider"
)

// Sighting is a request for an effect as it came in.
type Sighting struct {
	Effect      string // charge, payment_intent, refund, …
	Amount      int64  // minor units
	Currency    string
	Description string
	Metadata    map[string]string
	Key         string // Idempotency-Key, "" if none
	Header      http.Header
	Body        []byte // JSON, whatever form it came in
}

// Provider makes what a call asks for; *fakeprovider.Provider is one. Its errors are
// those of package fakeprovider, or the context's cause.
type Provider interface {
	Charge(ctx context.Context, request fakeprovider.Call) (fakeprovider.Charge, error)
}

// Seat is where a call goes.
type Seat struct {
	Provider Provider
	Call     fakeprovider.Call // in the provider's words
	// ID is a charge's name on the wire: unique in a run, where charges of several
	// providers meet in one service's table.
	ID func(fakeprovider.Charge) string
}

// Desk says whose a call is.
type Desk interface {
	// Take finds the seat. An error is answered as a refusal (400), and nothing is
	// charged.
	Take(Sighting) (Seat, error)
	// Providers are all that there are, for the ledger; Seat.ID of each.
	Find(id string) (p *fakeprovider.Provider, charge string, ok bool)
	Ledger() []Line
}

// Line is one line of GET /ledger.
type Line struct {
	ID     string `json:"id"`
	Ref    string `json:"ref"`
	Effect string `json:"effect"`
	Amount int64  `json:"amount"`
	Key    string `json:"key,omitempty"`
	Voided bool   `json:"voided"`
}
