package runner

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/fakeprovider/providerhttp"
	"github.com/idemrace/idemrace/target/effects"
	"github.com/idemrace/idemrace/target/httptarget"
)

// errNoCell is the refusal of a call that no cell has asked for.
var errNoCell = errors.New("no cell of this run has asked for that")

// desk is the one provider that a service knows: it hands each call to the cell
// whose it is, by the ref or the amount in it, and never by its key.
type desk struct {
	attribute effects.Attribution

	mu     sync.Mutex
	load   *loadDesk // of a load that runs
	cells  []deskCell
	strays []string // what came that was nobody's, in words; the last few
}

// deskCell is a cell that has been, or is being played.
type deskCell struct {
	names    *httptarget.Names
	provider *fakeprovider.Provider
}

// straysKept are enough to see what is wrong.
const straysKept = 5

func (d *desk) add(n *httptarget.Names, p *fakeprovider.Provider) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cells = append(d.cells, deskCell{n, p})
}

// Take finds the cell of a call, and says the call in that cell's words.
func (d *desk) Take(s providerhttp.Sighting) (providerhttp.Seat, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if seat, ok := d.load.take(d.attribute, s); ok {
		return seat, nil
	}
	for _, c := range d.cells {
		ref, amount, ok := d.whose(c, s)
		if ok {
			call := fakeprovider.Call{Ref: ref, Effect: effectOf(s.Effect), Amount: amount, Key: s.Key}
			id := func(ch fakeprovider.Charge) string { return providerhttp.IDFor(s.Effect, c.names.ID(ch)) }
			return providerhttp.Seat{Provider: c.provider, Call: call, ID: id}, nil
		}
	}
	d.strays = append(d.strays, d.sight(s))
	if len(d.strays) > straysKept {
		d.strays = d.strays[1:]
	}
	return providerhttp.Seat{}, errNoCell
}

// serve hands what is a load's to it from now on.
func (d *desk) serve(l *loadDesk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.load = l
}

// effectOf: whoever charges by a payment intent charges.
func effectOf(kind string) string {
	if kind == "payment_intent" {
		return ""
	}
	return kind
}

func (d *desk) whose(c deskCell, s providerhttp.Sighting) (ref string, amount int64, ok bool) {
	if d.attribute.ByAmount() {
		return c.names.OfAmount(s.Amount)
	}
	ref, ok = c.names.OfRef(d.attribute.Text(s))
	return ref, s.Amount, ok
}

// sight is a stray call in words.
func (d *desk) sight(s providerhttp.Sighting) string {
	text := fmt.Sprintf("%s of %d %s", s.Effect, s.Amount, s.Currency)
	if !d.attribute.ByAmount() {
		text += fmt.Sprintf(", with %q where the ref should be", d.attribute.Text(s))
	}
	return text
}

// stray says what came that was nobody's, "" if nothing did.
func (d *desk) stray() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.strays, "; ")
}

// Find finds a charge by its name on the wire.
func (d *desk) Find(id string) (p *fakeprovider.Provider, charge string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.cells {
		if name := c.names.Charge(id); name != id {
			return c.provider, name, true
		}
	}
	return nil, "", false
}

// Ledger lists the charges of all cells.
func (d *desk) Ledger() []providerhttp.Line {
	d.mu.Lock()
	defer d.mu.Unlock()
	var lines []providerhttp.Line
	for _, c := range d.cells {
		for _, ch := range c.provider.Ledger() {
			lines = append(lines, providerhttp.Line{ID: c.names.ID(ch), Ref: c.names.Ref(ch.Ref), Effect: ch.Effect, Amount: ch.Amount, Key: ch.Key, Voided: ch.Voided})
		}
	}
	return lines
}
