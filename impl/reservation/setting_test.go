package reservation_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/raise"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/impl/wait"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
)

// The tests run in a synctest bubble: time passes only when every goroutine is
// blocked, and synctest.Wait says when that is so.

type constructor func(store.Store, clock.Clock, reservation.Config) (*reservation.Coordinator, error)

var both = map[string]constructor{"wait": wait.New, "raise": raise.New}

// onBoth runs a test with each of the coordinators, in a bubble of its own.
func onBoth(t *testing.T, test func(t *testing.T, s *setting)) {
	for name, newOne := range both {
		t.Run(name, func(t *testing.T) { inBubble(t, newOne, test) })
	}
}

// onWait is for what only waiters do.
func onWait(t *testing.T, test func(t *testing.T, s *setting)) { inBubble(t, wait.New, test) }

func inBubble(t *testing.T, newOne constructor, test func(t *testing.T, s *setting)) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(clock.Real{})
		test(t, &setting{t: t, mem: mem, store: &disturbed{Store: mem}, newOne: newOne})
	})
}

// setting is one test's store, its orphans, and how to make coordinators on it.
type setting struct {
	t       *testing.T
	mem     *memstore.Store
	store   *disturbed
	newOne  constructor
	orphans []idempotency.Orphan
}

func (s *setting) coordinator(cfg reservation.Config) *reservation.Coordinator {
	s.t.Helper()
	if cfg.OnOrphan == nil {
		cfg.OnOrphan = func(_ context.Context, o idempotency.Orphan) { s.orphans = append(s.orphans, o) }
	}
	c, err := s.newOne(s.store, clock.Real{}, cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// record is the one record under the store's prefix.
func (s *setting) record() store.Record {
	s.t.Helper()
	records, err := s.mem.Records(s.t.Context())
	if err != nil || len(records) != 1 {
		s.t.Fatalf("records: %v, %v; want one", records, err)
	}
	return records[0]
}

func (s *setting) endLeases() {
	s.t.Helper()
	if n, err := s.mem.EndLeases(s.t.Context()); n == 0 || err != nil {
		s.t.Fatalf("leases ended: %d, %v", n, err)
	}
}

// disturbed is a store whose calls can be counted and disturbed.
type disturbed struct {
	store.Store
	claims, settles, awaits atomic.Int64

	mu       sync.Mutex
	onClaim  func(store.Claim, func() (store.Claimed, error)) (store.Claimed, error)
	onSettle func(store.Settlement, func() (store.Settled, error)) (store.Settled, error)
	onAwait  func() error
}

func (d *disturbed) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	d.claims.Add(1)
	d.mu.Lock()
	hook := d.onClaim
	d.mu.Unlock()
	pass := func() (store.Claimed, error) { return d.Store.Claim(ctx, c) }
	if hook != nil {
		return hook(c, pass)
	}
	return pass()
}

func (d *disturbed) Settle(ctx context.Context, s store.Settlement) (store.Settled, error) {
	d.settles.Add(1)
	d.mu.Lock()
	hook := d.onSettle
	d.mu.Unlock()
	pass := func() (store.Settled, error) { return d.Store.Settle(ctx, s) }
	if hook != nil {
		return hook(s, pass)
	}
	return pass()
}

func (d *disturbed) Await(ctx context.Context, ticket store.Ticket, limit time.Duration) (store.Notice, error) {
	d.awaits.Add(1)
	d.mu.Lock()
	hook := d.onAwait
	d.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return store.Notice{}, err
		}
	}
	return d.Store.Await(ctx, ticket, limit)
}

func (d *disturbed) commands() int64 { return d.claims.Load() + d.settles.Load() }

var errDown = fmt.Errorf("connection refused: %w", store.ErrUnavailable)

// claimsFail and settlesFail take the store down for one kind of call.
func (d *disturbed) claimsFail(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onClaim = nil
	if down {
		d.onClaim = func(store.Claim, func() (store.Claimed, error)) (store.Claimed, error) {
			return store.Claimed{}, errDown
		}
	}
}

func (d *disturbed) settlesFail(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onSettle = nil
	if down {
		d.onSettle = func(store.Settlement, func() (store.Settled, error)) (store.Settled, error) {
			return store.Settled{}, errDown
		}
	}
}

// till is a provider that counts: each call charges, and names its charge.
type till struct {
	charges atomic.Int64
	key     atomic.Value // the provider key of the last call
}

func (p *till) charge(ctx context.Context) ([]byte, error) {
	p.key.Store(idempotency.ProviderKey(ctx))
	return fmt.Appendf(nil, "ch_%d", p.charges.Add(1)), nil
}

// held is a charge that is made when the gate opens.
func (p *till) held(gate <-chan struct{}) idempotency.Action {
	return func(ctx context.Context) ([]byte, error) {
		<-gate
		return p.charge(ctx)
	}
}

func failing(err error) idempotency.Action {
	return func(context.Context) ([]byte, error) { return nil, err }
}

func never(t *testing.T) idempotency.Action {
	return func(context.Context) ([]byte, error) {
		t.Error("the action ran")
		return nil, nil
	}
}

func request(t *testing.T, amount int) idempotency.Request {
	t.Helper()
	f, err := idempotency.FingerprintFields(map[string]any{"amount": amount})
	if err != nil {
		t.Fatal(err)
	}
	return idempotency.Request{Tenant: "shop", Operation: "order.create", Key: "order-4711", Fingerprint: f}
}

// answer is what one call of Do returned.
type answer struct {
	idempotency.Outcome
	err error
}

func do(ctx context.Context, c idempotency.Coordinator, req idempotency.Request, act idempotency.Action) answer {
	out, err := c.Do(ctx, req, act)
	return answer{out, err}
}

// start calls Do beside the test, and returns once that call is blocked or done.
func start(ctx context.Context, c idempotency.Coordinator, req idempotency.Request, act idempotency.Action) <-chan answer {
	done := make(chan answer, 1)
	go func() { done <- do(ctx, c, req, act) }()
	synctest.Wait()
	return done
}
