package runner

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/fakeprovider/providerhttp"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/target/effects"
	"github.com/idemrace/idemrace/target/httptarget"
)

// till is the provider of a load. A fakeprovider keeps each charge and lets each be
// held; this one counts, so that its memory stays flat.
type till struct {
	takes   time.Duration
	shard   string // in the names of charges: two shards' are not one
	ledger  *load.Ledger
	charges atomic.Int64
	slow    atomic.Int32 // faults that make it slow
	failing atomic.Int32 // faults that make it decline
	open    atomic.Int64
	arrived atomic.Int64
	cut     chan struct{} // closed: calls under way end, and charge nothing
}

// slowBy is how much longer a slow provider takes.
const slowBy = time.Second

// charge takes its time, declines or charges, and names the charge. ctx is the
// patience of whoever may call it back before it has an effect.
func (t *till) charge(ctx context.Context, entry int64) (id string, err error) {
	t.arrived.Add(1)
	t.open.Add(1)
	defer t.open.Add(-1)
	takes := t.takes
	if t.slow.Load() > 0 {
		takes += slowBy
	}
	if takes > 0 {
		if err := t.sleep(ctx, takes); err != nil {
			return "", err
		}
	}
	if t.failing.Load() > 0 {
		return "", fakeprovider.ErrDeclined
	}
	t.ledger.Charge(entry)
	return "ch_" + t.shard + strconv.FormatInt(t.charges.Add(1), 10), nil
}

// errCut ends a call that an interrupted load does not wait for.
var errCut = errors.New("the load was interrupted")

func (t *till) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.cut:
		return errCut
	}
}

// endWith lets what is open go on for a while when ctx has ended, and then cuts it. The
// caller calls what it returns when nobody is waiting any more.
func (t *till) endWith(ctx context.Context, after time.Duration) (stop func()) {
	over := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
			close(t.cut)
		case <-over:
		}
	})
	return func() {
		unwatch()
		close(over)
	}
}

// begin makes a fault that is the provider's; ok is false for others.
func (t *till) begin(f LoadFault) (end func(context.Context) error, ok bool) {
	count := map[string]*atomic.Int32{ProviderSlowFault: &t.slow, ProviderErrors: &t.failing}[f.Kind]
	if count == nil {
		return nil, false
	}
	count.Add(1)
	return func(context.Context) error { count.Add(-1); return nil }, true
}

// rest returns when no call has been open, and none has come, for as long as quiet.
func (t *till) rest(ctx context.Context, quiet time.Duration) {
	for {
		before := t.arrived.Load()
		if (clock.Real{}).Sleep(ctx, quiet) != nil || t.open.Load() == 0 && t.arrived.Load() == before {
			return
		}
	}
}

// loadDesk hands calls of a service under load to the till.
type loadDesk struct {
	till    *till
	names   *httptarget.Names
	base    int64        // amounts above it are the load's, if amounts tell whose a charge is
	highest atomic.Int64 // entry that was sent
	keys    *keyring     // nil: the provider honours none
	running context.Context
}

// take finds the seat of a call, if it is the load's.
func (d *loadDesk) take(by effects.Attribution, s providerhttp.Sighting) (providerhttp.Seat, bool) {
	if d == nil {
		return providerhttp.Seat{}, false
	}
	entry := s.Amount - d.base
	if !by.ByAmount() {
		ref, ok := d.names.OfRef(by.Text(s))
		if !ok {
			return providerhttp.Seat{}, false
		}
		var err error
		if entry, err = strconv.ParseInt(ref, 10, 64); err != nil {
			return providerhttp.Seat{}, false
		}
	}
	if entry <= 0 || entry > d.highest.Load() {
		return providerhttp.Seat{}, false
	}
	call := fakeprovider.Call{Effect: s.Effect, Amount: s.Amount, Key: s.Key}
	id := func(c fakeprovider.Charge) string { return providerhttp.IDFor(s.Effect, d.names.ID(c)) }
	return providerhttp.Seat{Provider: counter{d, entry}, Call: call, ID: id}, true
}

// counter is the till for one call.
type counter struct {
	desk  *loadDesk
	entry int64
}

// Charge charges whatever becomes of its caller, as a real provider does with what has
// arrived.
func (c counter) Charge(_ context.Context, call fakeprovider.Call) (fakeprovider.Charge, error) {
	make := func() (string, error) { return c.desk.till.charge(c.desk.running, c.entry) }
	var id string
	var err error
	if c.desk.keys == nil || call.Key == "" {
		id, err = make()
	} else {
		id, err = c.desk.keys.once(call.Key, kept{entry: c.entry, amount: call.Amount}, make)
	}
	effect := call.Effect
	if effect == "payment_intent" {
		effect = "charge"
	}
	return fakeprovider.Charge{ID: id, Effect: effect, Amount: call.Amount}, err
}

// keyring is a provider's own idempotency, as fakeprovider's is, but for its memory:
// a key is forgotten when it has not come for a minute or two.
type keyring struct {
	mu       sync.Mutex
	now, old map[string]*kept
	turned   time.Time
}

// kept is what is known of a key.
type kept struct {
	entry, amount int64
	finished      bool
	id            string
	err           error
}

// keysFor is far beyond the retries of a plan.
const keysFor = time.Minute

func newKeyring() *keyring {
	return &keyring{now: map[string]*kept{}, old: map[string]*kept{}, turned: time.Now()}
}

// once makes the charge for the first call with a key, and answers the others as
// Stripe does.
func (r *keyring) once(key string, call kept, make func() (string, error)) (string, error) {
	r.mu.Lock()
	k := r.find(key)
	switch {
	case k == nil:
		k = &call
		r.now[key] = k
		r.mu.Unlock()
	case k.entry != call.entry || k.amount != call.amount:
		defer r.mu.Unlock()
		return "", fakeprovider.ErrKeyReused
	case !k.finished:
		defer r.mu.Unlock()
		return "", fakeprovider.ErrKeyInUse
	default:
		defer r.mu.Unlock()
		return k.id, k.err
	}
	id, err := make()
	r.mu.Lock()
	defer r.mu.Unlock()
	k.id, k.err, k.finished = id, err, true
	return id, err
}

// find is a key that is known; it is known for longer then.
func (r *keyring) find(key string) *kept {
	if time.Since(r.turned) > keysFor {
		r.old, r.now, r.turned = r.now, map[string]*kept{}, time.Now()
	}
	k := r.now[key]
	if k == nil && r.old[key] != nil {
		k = r.old[key]
		r.now[key] = k
	}
	return k
}
