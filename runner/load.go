package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/fakeprovider"
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
	Takes       time.Duration // how long the provider takes for a charge
	Faults      []LoadFault
	Progress    func(load.Snapshot)
}

// LoadFault is a disturbance at a moment of the load, for a time.
type LoadFault struct {
	Kind string // store-down, provider-slow, provider-errors
	At   time.Duration
	For  time.Duration
}

// Kinds of LoadFault.
const (
	StoreDownFault    = "store-down"
	ProviderSlowFault = "provider-slow"
	ProviderErrors    = "provider-errors"
)

// LoadFaults lists the kinds.
func LoadFaults() []string { return []string{StoreDownFault, ProviderSlowFault, ProviderErrors} }

// LoadReport is what a load has shown of one target.
type LoadReport struct {
	load.Result
	Target   string
	Commands int           // store commands
	CPU      time.Duration // of this process, load included
}

// Load runs a plan against a coordinator, in a store of its own prefix, which is
// emptied at the end.
func Load(ctx context.Context, cfg LoadConfig) (LoadReport, error) {
	l := &loading{cfg: cfg, start: time.Now()}
	l.ledger = load.NewLedger(nil)
	if err := l.open(); err != nil {
		return LoadReport{}, errors.Join(err, l.close())
	}
	g := load.Generator{Plan: cfg.Plan, Sender: l, Judge: load.NewJudge(l.ledger, load.DefaultKept, time.Now()), Progress: cfg.Progress, Every: time.Second}
	l.start = time.Now()
	stop := l.disturb(ctx)
	before := cpu()
	r := LoadReport{Result: g.Run(ctx), Target: l.name()}
	r.CPU = cpu() - before
	stop()
	if l.proxy != nil {
		r.Commands = l.proxy.Commands()
	}
	return r, l.close()
}

// loading is one target under load.
type loading struct {
	cfg     LoadConfig
	start   time.Time
	ledger  *load.Ledger
	proxy   *faultproxy.Proxy
	store   ports
	control store.Controller
	coord   idempotency.Coordinator
	ends    []func()
	closers []func() error
	charges atomic.Int64
	tokens  atomic.Int64 // of the floor's claims
	slow    atomic.Bool
	failing atomic.Bool
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
	} else if err := l.openRedis(runPrefix()); err != nil {
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
		l.closers = append(l.closers, client.Close)
		s, err := redisstore.New(client, redisstore.Config{Prefix: prefix, Retry: redisstore.Retry{Within: backend.Patience}})
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
	if l.control != nil {
		ctx, cancel := context.WithTimeout(context.Background(), purgeLoad)
		defer cancel()
		_, err = l.control.Purge(ctx)
	}
	for i := len(l.closers) - 1; i >= 0; i-- {
		_ = l.closers[i]()
	}
	return err
}

// purgeLoad is how long deleting a load's records may take: there may be millions.
const purgeLoad = 2 * time.Minute

// disturb makes the faults at their times.
func (l *loading) disturb(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, f := range l.cfg.Faults {
			l.fault(ctx, f)
		}
	}()
	return func() { cancel(); <-done }
}

func (l *loading) fault(ctx context.Context, f LoadFault) {
	real := clock.Real{}
	if real.Sleep(ctx, time.Until(l.start.Add(f.At))) != nil {
		return
	}
	switch f.Kind {
	case StoreDownFault:
		if l.proxy != nil {
			l.proxy.Down()
			defer func() { _ = l.proxy.Up() }()
		}
	case ProviderSlowFault:
		l.slow.Store(true)
		defer l.slow.Store(false)
	case ProviderErrors:
		l.failing.Store(true)
		defer l.failing.Store(false)
	}
	_ = real.Sleep(ctx, f.For)
}

// slowBy is how much longer a slow provider takes.
const slowBy = time.Second

// charge is the provider's: it counts, and gives the charge a name.
func (l *loading) charge(ctx context.Context, ref int64, amount int64) ([]byte, error) {
	takes := l.cfg.Takes
	if l.slow.Load() {
		takes += slowBy
	}
	if takes > 0 {
		if err := (clock.Real{}).Sleep(ctx, takes); err != nil {
			return nil, target.Known(err)
		}
	}
	if l.failing.Load() {
		return nil, target.Known(fakeprovider.ErrDeclined)
	}
	l.ledger.Charge(ref)
	return target.Receipt("ch_"+strconv.FormatInt(l.charges.Add(1), 10), amount, strconv.FormatInt(ref, 10)), nil
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
	return load.Reply{Answer: out.Answer, Source: out.Source, Charge: out.Charge}
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

// MarshalJSON is the report as a document: figures in milliseconds, and the
// percentiles that people ask for.
func (r LoadReport) MarshalJSON() ([]byte, error) {
	q := func(p float64) float64 { return float64(r.Latency.ValueAtQuantile(p)) / 1000 }
	return json.Marshal(map[string]any{
		"target": r.Target, "sent": r.Sent, "dropped": r.Dropped, "late": r.Late, "took_ms": ms(r.Took), "interrupted": r.Interrupted,
		"per_second": float64(r.Sent) / r.Took.Seconds(), "store_commands": r.Commands, "cpu_ms": ms(r.CPU), "go": runtime.Version(),
		"latency_ms": map[string]float64{"p50": q(50), "p90": q(90), "p99": q(99), "p99.9": q(99.9), "max": float64(r.Latency.Max()) / 1000},
		"verdicts":   r.Verdicts,
	})
}

// ParseLoadFault reads KIND@AT+FOR, e.g. store-down@10s+2s.
func ParseLoadFault(text string) (LoadFault, error) {
	wrong := fmt.Errorf("%q: write KIND@AT+FOR, e.g. store-down@10s+2s; kinds: %v", text, LoadFaults())
	var f LoadFault
	for _, kind := range LoadFaults() {
		rest, ok := strings.CutPrefix(text, kind+"@")
		if !ok {
			continue
		}
		at, long, ok := strings.Cut(rest, "+")
		var err1, err2 error
		f.Kind = kind
		f.At, err1 = time.ParseDuration(at)
		f.For, err2 = time.ParseDuration(long)
		if !ok || err1 != nil || err2 != nil || f.At < 0 || f.For <= 0 {
			return f, wrong
		}
		return f, nil
	}
	return f, wrong
}
