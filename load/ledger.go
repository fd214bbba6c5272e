package load

import "sync"

// Ledger counts charges by ref: two bits each, in pages, so that millions of refs
// cost little and memory stays flat. It is the ground truth. It is safe for
// concurrent use.
type Ledger struct {
	mu      sync.Mutex
	pages   map[int64]*[pageBytes]byte
	charges int64 // all
	refs    int64 // with at least one
	doubles int64 // with more than one
	excess  int64 // what is over one
	onDup   func(ref int64, n int)
}

const (
	pageBytes = 4096
	perByte   = 4
	perPage   = pageBytes * perByte
	most      = 3 // what two bits can count
)

// NewLedger is empty. onDuplicate is told of each charge beyond a ref's first, under
// the lock; may be nil.
func NewLedger(onDuplicate func(ref int64, n int)) *Ledger {
	return &Ledger{pages: map[int64]*[pageBytes]byte{}, onDup: onDuplicate}
}

// Charge enters a charge and returns how many the ref has now, at most 3.
func (l *Ledger) Charge(ref int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, shift := l.place(ref)
	n := int(*at>>shift) & most
	if n < most {
		n++
		*at += 1 << shift
	}
	l.charges++
	switch {
	case n == 1:
		l.refs++
	default:
		l.excess++
		if n == 2 {
			l.doubles++
		}
		if l.onDup != nil {
			l.onDup(ref, n)
		}
	}
	return n
}

// Of is how many charges a ref has, at most 3.
func (l *Ledger) Of(ref int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, shift := l.place(ref)
	return int(*at>>shift) & most
}

func (l *Ledger) place(ref int64) (at *byte, shift uint) {
	page, in := ref/perPage, ref%perPage
	p := l.pages[page]
	if p == nil {
		p = new([pageBytes]byte)
		l.pages[page] = p
	}
	return &p[in/perByte], uint(in%perByte) * 2
}

// Totals of a ledger.
type Totals struct {
	Charges int64 `json:"charges"`
	Refs    int64 `json:"refs"`           // charged at least once
	Doubles int64 `json:"double_charges"` // refs charged more than once
	Excess  int64 `json:"excess_charges"`
}

// Totals so far.
func (l *Ledger) Totals() Totals {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Totals{l.charges, l.refs, l.doubles, l.excess}
}
