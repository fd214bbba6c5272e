package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idemrace/idemrace/store"
)

// The operations, on the model and, where there is one, on the real store beside
// it: the client gets the real one's reply, with the model's time in it.

func (w *world) claim(ctx context.Context, a *actor, c store.Claim) (store.Claimed, error) {
	got, err := w.model.Claim(ctx, c)
	if got.Mine {
		w.grant(c.Token)
	}
	if w.real == nil || err != nil {
		return got, err
	}
	real, err := w.real.Claim(ctx, c)
	real.Record.LeaseLeft, real.Record.ExpiresIn = got.Record.LeaseLeft, got.Record.ExpiresIn
	a.real, real.Ticket = real.Ticket, got.Ticket
	return real, err
}

func (w *world) settle(ctx context.Context, s store.Settlement) (store.Settled, error) {
	got, err := w.model.Settle(ctx, s)
	if got.Applied {
		w.grant(s.Token)
	}
	if w.real == nil || err != nil {
		return got, err
	}
	real, err := w.real.Settle(ctx, s)
	real.Record.LeaseLeft, real.Record.ExpiresIn = got.Record.LeaseLeft, got.Record.ExpiresIn
	return real, err
}

// ErrStoresDiffer: a schedule ended otherwise on the real store than on the model.
// Either one is not what the contract says.
var ErrStoresDiffer = errors.New("explore: the store and the model do not end alike")

// asOnModel makes a schedule that was made on a real store, to its end, on the model
// alone. It expects the same answers, charges, and records.
func (w *world) asOnModel() error {
	if w.real == nil {
		return nil
	}
	cfg := *w.cfg
	cfg.Back, cfg.real, cfg.lanes = nil, nil, nil
	defer cfg.free()
	m := recorded(&cfg)
	defer m.bury()
	var possible []Choice
	for i, c := range w.chosen {
		if possible = m.choices(possible); m.broken != nil || !slices.Contains(possible, c) {
			return fmt.Errorf("%w: on the model nothing follows the first %d steps of this one: %s", ErrStoresDiffer, i, Encode(cfg.schedule(m.steps)))
		}
		m.take(c)
	}
	real, err := w.end(w.real)
	if err != nil {
		return err
	}
	if model, err := m.end(m.model); err != nil || model != real {
		return fmt.Errorf("%w: on the store %q, on the model %q: %s", ErrStoresDiffer, real, model, Encode(cfg.schedule(m.steps)))
	}
	return nil
}

// end is how a schedule ended, and what lies in the store then.
func (w *world) end(s store.Inspector) (string, error) {
	records, err := s.Records(context.Background())
	all := []string{w.outcome()}
	for _, r := range records {
		all = append(all, fmt.Sprintf("%s is %s %q, token %q, fence %d, generation %d", r.Name, r.State, r.Result, r.Token, r.Fence, r.Generation))
	}
	slices.Sort(all[1:])
	return strings.Join(all, "; "), err
}

// emptied is the real store with nothing in it.
func (w *world) emptied() (err error) {
	if w.cfg.real == nil {
		if w.cfg.real, err = w.cfg.Back(); err != nil {
			return err
		}
	}
	w.real = w.cfg.real
	if err := heard(w.real); err != nil {
		return err
	}
	_, err = w.real.Purge(context.Background())
	return err
}

// heard returns when the store has heard of all that was settled before, in the run
// before this one: names and fences begin anew, so that an old notice that came late
// would be taken for a new one. Notices come in the order in which they were sent.
func heard(s Real) error {
	ctx := context.Background()
	claim := store.Claim{Name: "heard", Token: "first", Fingerprint: "v1:", Fingerprints: []string{"v1:"}, Lease: arrival, Retention: arrival}
	if _, err := s.Claim(ctx, claim); err != nil {
		return err
	}
	claim.Token, claim.Wait = "second", true
	met, err := s.Claim(ctx, claim)
	if err != nil {
		return err
	}
	if _, err := s.Settle(ctx, store.Settlement{Name: "heard", Token: "first", To: store.Free, Retention: arrival}); err != nil {
		return err
	}
	_, err = s.Await(ctx, met.Ticket, arrival)
	return err
}

// release uses up the ticket of a client that will not wait any more.
func (w *world) release(a *actor) {
	if w.real == nil || a.real == 0 {
		return
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = w.real.Await(gone, a.real, time.Millisecond) // it ends at once, with the context's error
	a.real = 0
}

// arrival is how long a notice that the model says is there may take on a real store.
const arrival = 5 * time.Second

// awaitedReal takes the notice from the real store if the model says that there is
// one. Why a wait ended without one is the model's word.
func (w *world) awaitedReal(ctx context.Context, a *actor, n store.Notice) (store.Notice, error) {
	if w.real == nil || a.real == 0 {
		return n, nil
	}
	limit := time.Millisecond
	if n.Settled {
		limit = arrival
	}
	real, err := w.real.Await(context.WithoutCancel(ctx), a.real, limit)
	a.real = 0
	if err != nil || !n.Settled {
		return n, err
	}
	real.Record.LeaseLeft, real.Record.ExpiresIn = n.Record.LeaseLeft, n.Record.ExpiresIn
	return real, nil
}

// kv is where plain values are read.
func (w *world) kv() store.KV {
	if w.real != nil {
		return w.real
	}
	return w.model
}

// both makes a plain command on the model, and on the real store after it.
func (w *world) both(command func(store.KV) error) error {
	err := command(w.model)
	if w.real == nil || err != nil {
		return err
	}
	return command(w.real)
}

// renewed makes one renewal.
func (w *world) renewed(r store.Renewal) (bool, error) {
	kept := w.model.Renew(r)
	if w.real == nil {
		return kept, nil
	}
	return renewOnce(w.real, r)
}

// renewOnce has a store make its next renewal at once, and no other.
func renewOnce(s store.Store, r store.Renewal) (kept bool, err error) {
	done := make(chan struct{})
	once := store.Renewal{Name: r.Name, Token: r.Token, Lease: r.Lease, Every: time.Millisecond, MaxRun: arrival}
	first := true
	once.Each = func(renew func() (bool, error)) (bool, error) {
		if !first {
			return true, nil
		}
		first = false
		defer close(done)
		kept, err = renew()
		return kept, err
	}
	_, stop := s.Keep(context.Background(), once)
	<-done
	stop()
	return kept, err
}

// leased are the records of the model whose leases go on.
func (w *world) leased() (names []string) {
	w.model.Digest(func(r *store.Record, plain bool, lease, expires time.Time) {
		if plain {
			lease = expires
		}
		if lease.After(epoch.Add(w.now)) {
			names = append(names, r.Name)
		}
	})
	return names
}

// ended tells the real store that the clock has passed the end of a lease, or of a
// result.
func (w *world) ended(kind int) {
	if kind == leaseEnd {
		w.fault("end-leases", "")
	}
	if w.real == nil {
		return
	}
	var err error
	switch kind {
	case leaseEnd:
		_, err = w.real.Lapse(context.Background(), w.leased())
	case finalEnd:
		_, err = w.real.SetExpiry(context.Background(), 0)
	}
	w.broken = err
}
