package explore

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
)

// Backing is the store that a run is made on: the model, or a real one.
type Backing interface {
	store.Store
	store.KV
	// Noticed: an Await of the ticket would return at once.
	Noticed(ticket uint64) bool
	// Renew makes one renewal, as Keep would.
	Renew(r store.Renewal) bool
	// LeaseEnds is when the next lease ends by the clock, if any will.
	LeaseEnds() (at time.Time, ok bool)
	// EndLeases is told when the clock has passed a lease's end.
	EndLeases(ctx context.Context) error
	// Digest is a hash of what the store holds.
	Hash() digest
}

// model is memory on virtual time: its leases end by themselves.
type model struct{ *memstore.Store }

func (m model) EndLeases(context.Context) error { return nil }

func (m model) Noticed(t uint64) bool { return m.Store.Noticed(store.Ticket(t)) }

// Hash adds up the hashes of all entries, so that their order does not count.
func (m model) Hash() digest {
	var sum digest
	m.Store.Digest(func(e memstore.Entry) {
		var d digest
		r := e.Record
		d.text(r.Name)
		d.text(string(r.State))
		d.text(r.Token)
		d.text(string(r.Result))
		d.text(r.Failure)
		d.text(r.Fingerprint)
		d.add(uint64(r.Fence), uint64(r.Generation), uint64(e.Lease.UnixNano()), uint64(e.Expires.UnixNano()))
		d.flag(e.Waits)
		d.flag(e.Noticed)
		sum.a, sum.b = sum.a+d.a, sum.b+d.b
	})
	return sum
}
