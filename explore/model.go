package explore

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Real is a store beside the model: each gated operation is made on it too, and
// its replies are what the clients get. Time stays the model's: leases end on it by
// command, and how long one has left is the model's word.
type Real interface {
	store.Store
	store.KV
	store.Controller
	store.Inspector
	// Lapse ends the leases of all but those names as the clock would: no waiter hears
	// of it.
	Lapse(ctx context.Context, but []string) (int, error)
}

// virtual is the model store's own clock.
type virtual struct{ w *world }

func (v virtual) Now() time.Time { return epoch.Add(v.w.now) }

func (v virtual) Sleep(context.Context, time.Duration) error { return nil }

func (v virtual) WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// storeHash adds up the hashes of all entries, so that their order does not count.
// Waiters are their clients' state; see actor.state.
func (w *world) storeHash() digest {
	var sum digest
	w.model.Digest(func(r *store.Record, plain bool, lease, expires time.Time) {
		var d digest
		d.text(r.Name)
		d.text(string(r.State))
		d.one(w.number(r.Token))
		d.text(string(r.Form))
		d.bytes(r.Result)
		d.text(r.Failure)
		d.text(r.Fingerprint)
		d.add(uint64(r.Fence), uint64(r.Generation))
		if held := r.State == store.Pending || r.State == store.Unknown; held && !plain {
			d.one(uint64(lease.Sub(epoch)))
		} else if held || expires.Before(w.early) {
			d.one(uint64(expires.Sub(epoch))) // else it ends when all is over
		}
		sum.a, sum.b = sum.a+d.a, sum.b+d.b
	})
	return sum
}
