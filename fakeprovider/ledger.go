package fakeprovider

import (
	"errors"
	"slices"
	"strconv"
)

// ErrNoCharge is returned by Void for an id that the ledger does not have.
var ErrNoCharge = errors.New("provider: no such charge")

// commit writes the charge into the ledger. There is no way back from here but
// Void.
func (p *Provider) commit(c *call) {
	c.charge = Charge{
		ID:     "ch_" + strconv.Itoa(len(p.ledger)+1),
		Ref:    c.request.Ref,
		Effect: c.request.Effect,
		Amount: c.request.Amount,
		Key:    c.request.Key,
		Call:   c.number,
	}
	p.ledger = append(p.ledger, c.charge)
	p.counts.Charges++
	p.observe(Event{Phase: Committed, Number: c.number, Call: c.request, Charge: c.charge})
	p.change()
}

// Ledger is a copy of all charges in order of commit, the voided ones among
// them.
func (p *Provider) Ledger() []Charge {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ledger)
}

// Void takes a charge back and returns it as it stands then. Voiding it again
// changes nothing, so that whoever clears up an orphan may retry. The errors are
// ErrNoCharge, and ErrClosed, since a closed provider's ledger is final.
func (p *Provider) Void(id string) (Charge, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Charge{}, ErrClosed
	}
	i := slices.IndexFunc(p.ledger, func(c Charge) bool { return c.ID == id })
	if i < 0 {
		return Charge{}, ErrNoCharge
	}
	if p.ledger[i].Voided {
		return p.ledger[i], nil
	}
	p.ledger[i].Voided = true
	p.counts.Voids++
	p.observe(Event{Phase: Voided, Charge: p.ledger[i]})
	p.change()
	return p.ledger[i], nil
}
