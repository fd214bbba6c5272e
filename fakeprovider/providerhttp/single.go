package providerhttp

import (
	"strings"

	"github.com/idemrace/idemrace/fakeprovider"
)

// single is a desk with one provider, for a server that stands alone.
type single struct {
	provider *fakeprovider.Provider
	ref      func(Sighting) string
}

// NewSingle is a desk with one provider; ref finds a call's ref, which may be empty.
func NewSingle(p *fakeprovider.Provider, ref func(Sighting) string) Desk { return single{p, ref} }

func (d single) Take(s Sighting) (Seat, error) {
	effect := s.Effect
	if effect == "payment_intent" {
		effect = ""
	}
	call := fakeprovider.Call{Ref: d.ref(s), Effect: effect, Amount: s.Amount, Key: s.Key}
	return Seat{Provider: d.provider, Call: call, ID: func(c fakeprovider.Charge) string { return IDFor(s.Effect, c.ID) }}, nil
}

// IDFor is a charge's name to whoever asked for another effect: a payment intent is
// pi_1 where its charge is ch_1.
func IDFor(effect, charge string) string {
	if rest, ok := strings.CutPrefix(charge, "ch_"); ok && effect == "payment_intent" {
		return "pi_" + rest
	}
	return charge
}

func (d single) Find(id string) (*fakeprovider.Provider, string, bool) {
	if rest, ok := strings.CutPrefix(id, "pi_"); ok {
		id = "ch_" + rest
	}
	for _, c := range d.provider.Ledger() {
		if c.ID == id {
			return d.provider, id, true
		}
	}
	return nil, "", false
}

func (d single) Ledger() []Line {
	var lines []Line
	for _, c := range d.provider.Ledger() {
		lines = append(lines, Line{ID: c.ID, Ref: c.Ref, Effect: c.Effect, Amount: c.Amount, Key: c.Key, Voided: c.Voided})
	}
	return lines
}
