// Package plain is reservation's naive sibling: a reservation made of plain
// commands. It claims by SET NX with an expiry, completes by SET, and releases by
// DEL, looking with GET whose claim stands before it writes.
//
// It is as correct as plain commands allow, and it is there to be spoilt: each
// step is one of [Parts], and a broken coordinator of impl/zoo is this one with a
// part replaced, so that the difference is what a reader sees.
//
// What no coordinator on plain commands can do, whatever its parts:
//   - Write as owner only. Between the GET that finds the own claim and the SET or
//     DEL that follows, the claim can end and be somebody else's: a worker that is
//     stopped just there overwrites or deletes what is not its own. Looking first
//     makes the window small; only a script or a transaction closes it.
//   - Remember a claim that has ended. The expiry deletes the fingerprint with the
//     claim, so another payload can take the key; and no fence tells owners apart.
//   - Count generations. A release deletes the record, so the provider key is the
//     first generation's for ever: a provider that replays failures replays them.
//   - Tell waiters. It cannot wait without polling, so duplicates are told "in
//     progress" at once, and not for how long: GET does not say.
//
// Like reservation it starts no goroutine, never sleeps but by the clock port, and
// has no test hooks. It keeps no result elsewhere: one over the limit is remembered
// as done, and too large to give back.
package plain

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store"
)

// Config is what a reservation on plain commands heeds. The durations and the
// limit have to be given: their defaults, reasons and bounds are those of
// impl/reservation's Config, from which the catalogue fills this one.
type Config struct {
	Lease       time.Duration // the claim's expiry; > 0
	Retention   time.Duration // the result's expiry; at least the lease
	CompleteFor time.Duration // for how long completing and releasing are retried; less than the lease
	MaxResult   int           // bytes; > 0
	FailClosed  bool          // store down: ErrStoreUnavailable; else run unprotected
	OnOrphan    func(context.Context, idempotency.Orphan)
	Logger      *slog.Logger  // nil: no log
	NewToken    func() string // nil: 128 random bits
}

func (c Config) withDefaults() (Config, error) {
	if c.Lease <= 0 || c.Retention < c.Lease || c.CompleteFor < 0 || c.CompleteFor >= c.Lease || c.MaxResult <= 0 {
		return c, errors.New("plain: config: a lease, a retention as long, a shorter time to complete, and a limit for results are needed")
	}
	if c.OnOrphan == nil {
		c.OnOrphan = func(context.Context, idempotency.Orphan) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.NewToken == nil {
		c.NewToken = rand.Text
	}
	return c, nil
}

// Parts are the steps of one request, in the order in which they come up. A nil
// one is the correct one, which is the method of [Attempt] named beside it. Parts
// get contexts that do not end with the client's, but for StoreDown.
type Parts struct {
	// Claim takes the key: nil, or the value that stands in its way. It is called
	// again when it has failed, for perhaps only its reply was lost. (Reserve)
	Claim func(context.Context, *Attempt) (*Value, error)
	// Answer says what somebody else's value means for this caller. (Answer)
	Answer func(*Attempt, Value, idempotency.Source) (idempotency.Outcome, error)
	// StoreDown decides when Claim has failed. (StoreDown)
	StoreDown func(context.Context, *Attempt, error) (idempotency.Outcome, error)
	// ProviderKey is what is handed on to the provider; "" is no key. (ProviderKey)
	ProviderKey func(*Attempt) string
	// Complete keeps the result: nil, or the value that stands in its way. (Complete)
	Complete func(context.Context, *Attempt, []byte) (*Value, error)
	// Fail gives the key back after the action's error, and returns what the caller
	// is told. (Fail)
	Fail func(context.Context, *Attempt, error) error
}

func (p Parts) withDefaults() Parts {
	if p.Claim == nil {
		p.Claim = func(ctx context.Context, a *Attempt) (*Value, error) { return a.Reserve(ctx) }
	}
	if p.Answer == nil {
		p.Answer = (*Attempt).Answer
	}
	if p.StoreDown == nil {
		p.StoreDown = func(ctx context.Context, a *Attempt, err error) (idempotency.Outcome, error) {
			return a.StoreDown(ctx, err)
		}
	}
	if p.ProviderKey == nil {
		p.ProviderKey = (*Attempt).ProviderKey
	}
	if p.Complete == nil {
		p.Complete = func(ctx context.Context, a *Attempt, result []byte) (*Value, error) { return a.Complete(ctx, result) }
	}
	if p.Fail == nil {
		p.Fail = func(ctx context.Context, a *Attempt, err error) error { return a.Fail(ctx, err) }
	}
	return p
}

// Coordinator handles requests as well as its parts do. It is safe for concurrent
// use.
type Coordinator struct {
	kv    store.KV
	clk   clock.Clock
	cfg   Config
	parts Parts
}

var _ idempotency.Coordinator = (*Coordinator)(nil)

// New makes a coordinator on plain commands, with some parts replaced.
func New(kv store.KV, clk clock.Clock, cfg Config, replaced Parts) (*Coordinator, error) {
	if kv == nil || clk == nil {
		return nil, errors.New("plain: a key-value store and a clock are needed")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Coordinator{kv: kv, clk: clk, cfg: cfg, parts: replaced.withDefaults()}, nil
}

// Do claims the key, and then runs the action, answers with what stands there, or
// does what the policy says when the store is down. A claim is sent on a context
// that does not end with the client's: one cut short may have been applied, and
// would hold the key with nobody behind it.
func (c *Coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if err := req.Validate(); err != nil {
		return idempotency.Outcome{}, err
	}
	if err := ctx.Err(); err != nil {
		return idempotency.Outcome{}, err
	}
	a := c.attempt(req, act)
	stands, err := a.take(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		a.blind = true
		return c.parts.StoreDown(ctx, a, err)
	case stands != nil:
		return c.parts.Answer(a, *stands, idempotency.Replayed)
	}
	return a.Run(ctx, idempotency.Executed)
}
