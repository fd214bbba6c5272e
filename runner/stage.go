package runner

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/faultproxy"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/backend"
	"github.com/idemrace/idemrace/store/memstore"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/target"
)

// stage is where a cell of a coordinator of this process is played.
type stage struct {
	*script
	backend *backend.Backend
	direct  impl.Env         // past the proxy, for records that only the coordinator can read
	lines   map[string]*line // by worker: its own way to the store, if it has a client of its own
	ends    []func()         // of what coordinators have opened, run in reverse order
	workers *target.InProcess

	inspect store.Inspector  // past the proxy
	control store.Controller // past the proxy
	plain   store.KV         // past the proxy
	closers []func() error   // run in reverse order

	wires []func() error // those of closers that end connections
}

func newStage(ctx context.Context, cfg Config, run string, p pair) (st *stage, err error) {
	st = &stage{script: newScript(ctx, p), backend: cfg.Backend, lines: map[string]*line{}}
	st.config, st.hide = coordinatorConfig(cfg, p), cfg.Backend.Hide
	if p.entry.Unseen {
		st.calm = calm{quiet, st.silentWire}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.sentinel.relieve(ctx), st.close(ctx))
			st = nil
		}
	}()
	st.rec = history.NewRecorder(header(cfg, p, st.config), clock.Real{})
	setting := p.scenario.Setting
	st.provider = fakeprovider.New(fakeprovider.Options{
		HonoursKeys: setting.HonoursKeys, Default: setting.Provider, Observe: history.Provider(st.rec),
	})
	st.provider.Script(setting.Script...)
	if st.sentinel, err = guard(ctx, cfg, run); err != nil {
		return st, err
	}
	open, err := st.openStore(cfg, sayPrefix(run, p))
	if err != nil {
		return st, err
	}
	st.config.NewToken = tokens(cfg.Seed, p)
	st.config.OnOrphan = st.orphan
	workers := make([]target.Worker, 0, 2)
	for _, name := range setting.WorkerNames() {
		w, err := st.worker(name, p, open)
		if err != nil {
			return st, err
		}
		workers = append(workers, w)
	}
	st.workers = target.NewInProcess(st.provider, st.rec, workers...)
	st.target = st.workers
	return st, nil
}

func header(cfg Config, p pair, c reservation.Config) history.Header {
	return history.Header{
		Schema: history.Schema, Scenario: p.scenario.Name, Target: p.entry.Name, Seed: cfg.Seed,
		Policy: string(c.StoreDown), LeaseMS: c.Lease.Milliseconds(), RetentionMS: c.Retention.Milliseconds(),
		HonoursKeys: p.scenario.Setting.HonoursKeys, Inspected: !p.entry.Unseen, Marker: true,
		Releases: true, Controls: countable(p),
	}
}

// countable are the controls that can be counted on this target: of one with a client
// of its own nobody sees what it asks of its store.
func countable(p pair) []history.Control {
	if !p.entry.Unseen {
		return p.scenario.Controls
	}
	return slices.DeleteFunc(slices.Clone(p.scenario.Controls), func(c history.Control) bool { return check.CountsStoreCalls(c.Name) })
}

// tokens are reproducible: seeded by the run's seed and the cell's name.
func tokens(seed int64, p pair) func() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%s", p.scenario.Name, p.entry.Name)
	rng := rand.New(rand.NewPCG(uint64(seed), h.Sum64()))
	var mu sync.Mutex
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64())
	}
}

// ports is one worker's view of the store.
type ports interface {
	store.Store
	store.KV
}

// openStore sets up the proxy and the way past it, and returns what opens a
// worker's ports.
func (st *stage) openStore(cfg Config, prefix string) (func() (ports, error), error) {
	b := cfg.Backend
	st.direct = impl.Env{Prefix: prefix, RedisURL: b.ClientURL(""), Clock: clock.Real{}, Config: st.config, Cleanup: st.atEnd}
	if b.DialAddr() == "" {
		m := memstore.New(clock.Real{})
		st.direct.Store, st.direct.KV = m, m
		st.inspect, st.control, st.plain = m, m, m
		return func() (ports, error) { return m, nil }, nil
	}
	open := func(c redis.UniversalClient) (*redisstore.Store, error) {
		st.wire(c.Close)
		// One by one: a fault that is meant for one caller must not meet others.
		s, err := redisstore.New(c, redisstore.Config{Prefix: prefix, Retry: redisstore.Retry{Within: backend.Patience}, OneByOne: true})
		if err == nil {
			st.closers = append(st.closers, s.Close)
		}
		return s, err
	}
	direct, err := open(b.Client(""))
	if err != nil {
		return nil, err
	}
	st.inspect, st.control, st.plain = direct, direct, direct
	st.direct.Store, st.direct.KV = direct, direct
	addr := ""
	if b.Proxyable() {
		if st.proxy, err = faultproxy.Listen(b.DialAddr()); err != nil {
			return nil, err
		}
		st.wire(st.proxy.Close)
		addr = st.proxy.Addr()
	}
	return func() (ports, error) { return open(b.Client(addr)) }, nil
}

// atEnd registers what a coordinator has opened.
func (st *stage) atEnd(end func()) { st.ends = append(st.ends, end) }

func (st *stage) worker(name string, p pair, open func() (ports, error)) (target.Worker, error) {
	port, err := open()
	if err != nil {
		return target.Worker{}, err
	}
	url, err := st.line(name)
	if err != nil {
		return target.Worker{}, err
	}
	life := target.NewLife(func() { st.Fault("worker-paused", name, 1, 0) })
	c, err := p.entry.New(impl.Env{
		Store:       life.Store(history.Store(st.rec, name, port)),
		KV:          life.KV(history.KV(st.rec, name, port)),
		Clock:       life.Clock(clock.Real{}),
		Config:      st.config,
		HonoursKeys: p.scenario.Setting.HonoursKeys,
		RedisURL:    url,
		Prefix:      st.direct.Prefix,
		Cleanup:     st.atEnd,
	})
	if err != nil {
		return target.Worker{}, fmt.Errorf("coordinator %s: %w", p.entry.Name, err)
	}
	return target.Worker{Name: name, Coordinator: c, Life: life, Prepare: p.entry.Prepare}, nil
}

// orphan records an effect that its coordinator reports.
func (st *stage) orphan(ctx context.Context, o idempotency.Orphan) {
	ref, charge, _ := target.ReadReceipt(o.Result)
	st.rec.Record(history.Event{Kind: history.Orphan, Attempt: history.AttemptOf(ctx), Ref: ref, Charge: charge})
}

// cleanUp is how long a cell may take to delete its keys.
const cleanUp = 10 * time.Second

// close ends everything the cell has started and deletes its keys, in an order
// in which nothing can come to life again: provider, clients, workers, keys,
// connections. Of a store that is gone the connections go first: a coordinator
// would wait for it, and there is nothing to delete.
func (st *stage) close(ctx context.Context) error {
	var errs []error
	st.leave()
	if st.provider != nil {
		st.provider.Close()
	}
	_, gone := storeGone(ctx)
	if gone {
		st.sever()
	}
	if st.workers != nil {
		if err := st.workers.Close(); err != nil {
			errs = append(errs, err)
		}
	}
	st.open.Wait()
	for _, end := range slices.Backward(st.ends) {
		end()
	}
	if st.control != nil && !gone {
		ctx, cancel := context.WithTimeout(context.Background(), cleanUp)
		defer cancel()
		if _, err := st.control.Purge(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%w did not delete the cell's keys: %w", errStore, err))
		}
	}
	for _, end := range slices.Backward(st.closers) {
		_ = end() // a connection that is closed twice is closed
	}
	st.rec.Close()
	return errors.Join(errs...)
}

// sever cuts every wire, so that whoever waits for a reply has waited enough.
func (st *stage) sever() {
	for _, end := range slices.Backward(st.wires) {
		_ = end()
	}
}

// wire registers what ends a connection to the store.
func (st *stage) wire(end func() error) {
	st.wires, st.closers = append(st.wires, end), append(st.closers, end)
}
