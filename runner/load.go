package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/faultproxy"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/backend"
	"github.com/idemrace/idemrace/store/memstore"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/target"
)

// Floor is the name of what costs least: the same commands by the same client, with
// no coordinator around them.
const Floor = "floor"

// LoadConfig of a load on one coordinator, or on the floor.
type LoadConfig struct {
	Entry       impl.Entry // without a constructor: the floor
	Plan        load.Plan
	Backend     *backend.Backend
	Coordinator reservation.Config
	OneByOne    bool          // store commands share no pipelines
	Takes       time.Duration // how long the provider takes for a charge
	Faults      []LoadFault
	Progress    func(load.Snapshot)
	Log         *load.Log // may be nil
}

// tell adds what happened when. A fault that was asked for and never made is trouble:
// the load has not shown what it was to show.
func (cfg LoadConfig) tell(r *load.Report, t *load.Timeline, seen []load.FaultSeen) {
	r.Timeline, r.Faults, r.Recovery = t, seen, recovery(t, seen)
	for _, s := range seen {
		if s.Error != "" && r.Trouble == "" {
			r.Trouble = s.Fault + ": " + s.Error
		}
	}
	if r.Trouble != "" || r.Interrupted {
		return
	}
	for _, f := range cfg.Faults {
		if !slices.ContainsFunc(seen, func(s load.FaultSeen) bool { return s.Fault == f.String() }) {
			r.Trouble = fmt.Sprintf("%v was not made: the load ended before", f)
			return
		}
	}
}

// begin is when the plan begins: now, or when it was agreed on.
func (cfg LoadConfig) begin() time.Time {
	if now := time.Now(); cfg.Plan.Begin.Before(now) {
		return now
	}
	return cfg.Plan.Begin
}

// storeTrouble says that the store is not there any more, "" if it is. A service that
// fails open goes on without, and nobody else would tell.
func storeTrouble(b *backend.Backend) string {
	select {
	case <-b.Died():
		return errStoreDied.Error()
	default:
	}
	if b.DialAddr() == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), backend.Patience)
	defer cancel()
	client := b.Client("")
	defer func() { _ = client.Close() }()
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Sprintf("the store does not answer any more: %v", err)
	}
	return ""
}

// lastAnswers is how long an interrupted load waits for calls of the provider that are
// under way: they may be told to take hours.
const lastAnswers = 5 * time.Second

// Load runs a plan against a coordinator, in a store of its own prefix, which is
// emptied at the end.
func Load(ctx context.Context, cfg LoadConfig) (load.Report, error) {
	l := &loading{cfg: cfg}
	if err := l.unfaultable(); err != nil {
		return load.Report{}, err
	}
	t := load.NewTimeline(load.StepFor(cfg.Plan.For))
	l.till = &till{takes: cfg.Takes, shard: cfg.Plan.ShardName(), ledger: load.NewLedger(t.Charged), cut: make(chan struct{})}
	if err := l.open(); err != nil {
		return load.Report{}, errors.Join(err, l.close())
	}
	meeting, err := meet(ctx, cfg.Backend, cfg.Plan)
	if err != nil {
		return load.Report{}, errors.Join(err, l.close())
	}
	begin := cfg.begin()
	g := load.Generator{Plan: cfg.Plan, Sender: l, Judge: load.NewJudge(l.till.ledger, load.DefaultKept, begin), Timeline: t, Log: cfg.Log.Of(l.name()), Progress: cfg.Progress, Every: time.Second}
	defer l.till.endWith(ctx, lastAnswers)()
	faults := disturb(ctx, begin, cfg.Faults, l)
	before := cpu()
	r := load.Report{Result: g.Run(ctx), Target: l.name(), Meeting: meeting}
	r.CPU = cpu() - before
	r.Commands = int(l.commands.Load())
	r.Trouble = storeTrouble(cfg.Backend)
	cfg.tell(&r, t, faults.end())
	if err := l.close(); err != nil && r.Trouble == "" {
		r.Trouble = fmt.Sprintf("its records could not be removed: %v", err) // what it has shown stands
	}
	return r, nil
}

// loading is one target under load.
type loading struct {
	cfg     LoadConfig
	till    *till
	proxy   *faultproxy.Proxy
	store   ports
	control store.Controller
	coord   idempotency.Coordinator
	ends    []func()
	closers []func() error
	tokens  atomic.Int64 // of the floor's claims

	commands atomic.Int64 // that were sent to the store
}

func (l *loading) name() string {
	if l.cfg.Entry.New == nil {
		return Floor
	}
	return l.cfg.Entry.Name
}

func (l *loading) open() (err error) {
	b := l.cfg.Backend
	if b.DialAddr() == "" {
		m := memstore.New(clock.Real{})
		l.store, l.control = m, m
	} else if err := l.openRedis(l.prefix()); err != nil {
		return err
	}
	if l.cfg.Entry.New == nil {
		return nil
	}
	c := l.cfg.Coordinator
	if c.StoreDown == "" {
		c.StoreDown = l.cfg.Entry.Policy
	}
	l.coord, err = l.cfg.Entry.New(impl.Env{Store: l.store, KV: l.store, Clock: clock.Real{}, Config: c, Cleanup: func(end func()) { l.ends = append(l.ends, end) }})
	return err
}

// openRedis goes through a proxy only if something is to be cut: it costs.
func (l *loading) openRedis(prefix string) (err error) {
	b, addr := l.cfg.Backend, ""
	if l.cuts() && b.Proxyable() {
		if l.proxy, err = faultproxy.Listen(b.DialAddr()); err != nil {
			return err
		}
		l.closers = append(l.closers, l.proxy.Close)
		addr = l.proxy.Addr()
	}
	open := func(addr string) (*redisstore.Store, error) {
		client := b.Client(addr)
		client.AddHook(counting{&l.commands})
		l.closers = append(l.closers, client.Close)
		s, err := redisstore.New(client, redisstore.Config{Prefix: prefix, Retry: redisstore.Retry{Within: backend.Patience}, OneByOne: l.cfg.OneByOne})
		if err == nil {
			l.closers = append(l.closers, s.Close)
		}
		return s, err
	}
	direct, err := open("")
	if err != nil {
		return err
	}
	l.control = direct
	through, err := open(addr)
	l.store = through
	return err
}

func (l *loading) cuts() bool {
	for _, f := range l.cfg.Faults {
		if f.Kind == StoreDownFault {
			return true
		}
	}
	return false
}

func (l *loading) close() error {
	for i := len(l.ends) - 1; i >= 0; i-- {
		l.ends[i]()
	}
	var err error
	if l.control != nil && l.cfg.Plan.Run == "" {
		ctx, cancel := context.WithTimeout(context.Background(), purgeLoad)
		defer cancel()
		_, err = l.control.Purge(ctx)
	}
	for i := len(l.closers) - 1; i >= 0; i-- {
		_ = l.closers[i]()
	}
	return err
}

// prefix is of this load, or of all shards that share its keys; they leave the records
// to their retention, since one shard does not know when the last is done.
func (l *loading) prefix() string {
	if run := l.cfg.Plan.Run; run != "" {
		return loadPrefix(run) + l.name() + ":"
	}
	return runPrefix()
}

// purgeLoad is how long deleting a load's records may take: there may be millions.
const purgeLoad = 2 * time.Minute

// unfaultable refuses faults that a coordinator of this process cannot have.
func (l *loading) unfaultable() error {
	for _, f := range l.cfg.Faults {
		switch {
		case f.ofWorkers():
			return fmt.Errorf("%w: %s: %v: a coordinator of this process has no workers; --config and --target load services", ErrFault, l.name(), f)
		case f.Kind == StoreDownFault && !l.cfg.Backend.Proxyable():
			return fmt.Errorf("%w: %s: %v: the %s store has no connection to cut", ErrFault, l.name(), f, l.cfg.Backend.Kind())
		}
	}
	return nil
}

// begin makes a fault.
func (l *loading) begin(f LoadFault) (end func(context.Context) error, err error) {
	if end, ok := l.till.begin(f); ok {
		return end, nil
	}
	l.proxy.Down()
	return func(context.Context) error { return l.proxy.Up() }, nil
}

// charge is the provider's.
func (l *loading) charge(ctx context.Context, ref int64, amount int64) ([]byte, error) {
	id, err := l.till.charge(ctx, ref)
	if err != nil {
		return nil, target.Known(err)
	}
	return target.Receipt(id, amount, strconv.FormatInt(ref, 10)), nil
}

// amounts of a request, and of another payload under its key.
const (
	loadAmount  = 100
	otherAmount = 5
)

// Send is one request of the plan.
func (l *loading) Send(ctx context.Context, r load.Request) load.Reply {
	amount := int64(loadAmount)
	if r.Other {
		amount = otherAmount
	}
	a := target.Attempt{Operation: "charge", Key: strconv.FormatInt(r.Ref, 10), Ref: strconv.FormatInt(r.Entry(), 10), Amount: amount}
	fp, err := l.fingerprint(a)
	if err != nil {
		return load.Reply{Answer: history.Error}
	}
	req := idempotency.Request{Operation: a.Operation, Key: a.Key, Fingerprint: fp}
	act := func(ctx context.Context) ([]byte, error) { return l.charge(ctx, r.Entry(), amount) }
	var out target.Response
	if l.coord == nil {
		out = l.floor(ctx, req, act)
	} else {
		out = target.Do(ctx, l.coord, req, act)
	}
	if out.Answer == history.Error && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		out.Answer = history.HungUp
	}
	return load.Reply{Answer: out.Answer, Source: out.Source, Charge: out.Charge, Detail: out.Detail}
}

func (l *loading) fingerprint(a target.Attempt) (idempotency.Fingerprint, error) {
	if p := l.cfg.Entry.Prepare; p != nil {
		return p(a.Payload(), target.Fields())
	}
	return target.Fingerprint(a)
}

// floor is a claim and a completion, and nothing between them but the charge.
func (l *loading) floor(ctx context.Context, req idempotency.Request, act idempotency.Action) target.Response {
	fp := req.Fingerprint.String()
	token := strconv.FormatInt(l.tokens.Add(1), 10)
	got, err := l.store.Claim(ctx, store.Claim{Name: req.StoredName(), Fingerprint: fp, Fingerprints: req.Fingerprint.All(), Token: token,
		Lease: reservation.DefaultLease, Retention: reservation.DefaultRetention})
	if err != nil {
		return target.Response{Answer: history.StoreUnavailable, Detail: err.Error()}
	}
	if !got.Mine {
		return target.Answer(idempotency.Outcome{Result: got.Record.Result, Source: idempotency.Replayed}, settledOr(got.Record))
	}
	result, err := act(ctx)
	if err != nil {
		return target.Answer(idempotency.Outcome{}, err)
	}
	_, err = l.store.Settle(ctx, store.Settlement{Name: req.StoredName(), Token: token, To: store.Done, Result: result, Retention: reservation.DefaultRetention, Fingerprint: fp})
	return target.Answer(idempotency.Outcome{Result: result, Source: idempotency.Executed}, err)
}

// settledOr is in progress, for a record that is not final.
func settledOr(r store.Record) error {
	if r.State == store.Done {
		return nil
	}
	return &idempotency.InProgressError{RetryAfter: r.LeaseLeft}
}

// cpu is what this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
