package httptarget

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/idemrace/idemrace/fakeprovider"
)

// Amounts gives out amounts that occur once in a run, for services that hand
// nothing to their provider by which a charge could be told but the amount.
type Amounts struct{ last atomic.Int64 }

// firstAmount and those after it look like a price and like no scenario's.
const firstAmount = 1000

func (a *Amounts) next() int64 { return firstAmount + a.last.Add(1) }

// Last is the highest that was given out: those above it are nobody's.
func (a *Amounts) Last() int64 { return firstAmount + a.last.Load() }

// Names turns a scenario's words into those on the wire, and back, for one cell.
// Every scenario calls its key order-42; a service, which is one for all cells of
// this run and of the last one, must be able to tell them apart.
type Names struct {
	tag     string // run and cell
	cell    string
	amounts *Amounts // nil: amounts are the scenario's

	mu   sync.Mutex
	wire map[bill]int64
	back map[int64]bill
}

// bill is what an amount on the wire stands for.
type bill struct {
	ref    string
	amount int64
}

// NewNames is for one cell; cell is short and occurs once in the run. With amounts
// every logical operation gets one of its own.
func NewNames(run, cell string, amounts *Amounts) *Names {
	return &Names{tag: run + "-" + cell + "-", cell: cell, amounts: amounts, wire: map[bill]int64{}, back: map[int64]bill{}}
}

// roomy keys are made longer, others keep their length: that is what they are about.
const roomy = 200

// Key is the scenario's key with the cell's mark behind it (two names that are one
// string when joined stay so), or in place of its beginning where its length matters.
// The empty key stays empty.
func (n *Names) Key(key string) string {
	switch {
	case key == "":
		return ""
	case len(key) <= roomy:
		return key + "-" + strings.TrimSuffix(n.tag, "-")
	}
	return n.tag + key[len(n.tag):]
}

// Ref is unique in the run.
func (n *Names) Ref(ref string) string { return n.tag + ref }

// OfRef finds the scenario's ref in what came back, which may be more than the ref
// ("order r1, thank you"); ok is false if it is not of this cell.
func (n *Names) OfRef(text string) (ref string, ok bool) {
	_, rest, ok := strings.Cut(text, n.tag)
	if !ok {
		return "", false
	}
	end := strings.IndexFunc(rest, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end >= 0 {
		rest = rest[:end]
	}
	return rest, rest != ""
}

// Amount is the amount to send for a logical operation.
func (n *Names) Amount(ref string, amount int64) int64 {
	if n.amounts == nil {
		return amount
	}
	b := bill{ref, amount}
	n.mu.Lock()
	defer n.mu.Unlock()
	if w, ok := n.wire[b]; ok {
		return w
	}
	w := n.amounts.next()
	n.wire[b], n.back[w] = w, b
	return w
}

// OfAmount is the scenario's amount for one on the wire, and whose it is; ok is
// false where amounts are not unique, or it is not of this cell.
func (n *Names) OfAmount(wire int64) (ref string, amount int64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b, ok := n.back[wire]
	return b.ref, b.amount, ok
}

// kinds are how the ids of an effect begin, as Stripe's do.
func kind(effect string) string {
	switch effect {
	case "payment_intent":
		return "pi"
	case "refund":
		return "re"
	}
	return "ch"
}

// ID is a charge's name on the wire: ch_7_1 for ch_1 of cell 7.
func (n *Names) ID(c fakeprovider.Charge) string {
	return fmt.Sprintf("%s_%s_%s", kind(c.Effect), n.cell, strings.TrimPrefix(c.ID, "ch_"))
}

// Charge is the ledger's name for one on the wire: ch_1 for ch_7_1 and pi_7_1. One
// that is not of this cell is left as it is.
func (n *Names) Charge(wire string) string {
	prefix, rest, ok := strings.Cut(wire, "_")
	cell, number, found := strings.Cut(rest, "_")
	if _, err := strconv.Atoi(number); !ok || !found || err != nil || cell != n.cell || len(prefix) != 2 {
		return wire
	}
	return "ch_" + number
}
