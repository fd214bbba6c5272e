package plain

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store"
)

const (
	// claimTries bounds how often a claim is made that fails: a connection breaks, a
	// reply is lost. The atomic port does as much by itself.
	claimTries = 3
	// lookTries bounds how often a claim is sent that meets a value which is gone when
	// it is looked at. Who meets three owners in a row may well be told that the
	// request is in progress.
	lookTries = 3
)

// Pauses between tries, as in impl/reservation: short, for a connection that broke,
// then longer, for a store that fails over.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// Attempt is one call of Do, as its parts see it.
type Attempt struct {
	Req    idempotency.Request
	Act    idempotency.Action
	Name   string // the stored name
	Token  string // tells this attempt's claim from all others
	KV     store.KV
	Clock  clock.Clock
	Config Config

	parts    Parts
	leaseEnd time.Time // by this side's clock, counted from before the claim was sent
	sawOther bool      // something was seen to stand under the key
	others   *Value    // another's value that stood there when this attempt wanted to release its claim
	blind    bool      // the store was down when the key was to be claimed
}

func (c *Coordinator) attempt(req idempotency.Request, act idempotency.Action) *Attempt {
	return &Attempt{
		Req: req, Act: act, Name: req.StoredName(), Token: c.cfg.NewToken(),
		KV: c.kv, Clock: c.clk, Config: c.cfg,
		parts: c.parts, leaseEnd: c.clk.Now().Add(c.cfg.Lease),
	}
}

// take runs the part Claim, more than once if it fails.
func (a *Attempt) take(ctx context.Context) (*Value, error) {
	for n, pause := 1, firstPause; ; n, pause = n+1, 2*pause {
		stands, err := a.parts.Claim(ctx, a)
		if err == nil || n == claimTries || a.Clock.Sleep(ctx, pause) != nil {
			return stands, err
		}
	}
}

// Reserve claims for the time of a lease.
func (a *Attempt) Reserve(ctx context.Context) (*Value, error) {
	return a.Claim(ctx, a.Pending(), a.Config.Lease)
}

// Claim writes a claim, and knows it again: if only the reply was lost, the next try
// finds the claim there already, with this attempt's token in it.
func (a *Attempt) Claim(ctx context.Context, v Value, ttl time.Duration) (*Value, error) {
	stands, err := a.TryClaim(ctx, v, ttl)
	if stands != nil && a.Owns(*stands) {
		return nil, nil
	}
	return stands, err
}

// TryClaim is a SET NX, and if that does not win, a GET: nil, or what stands there.
func (a *Attempt) TryClaim(ctx context.Context, v Value, ttl time.Duration) (*Value, error) {
	for range lookTries {
		a.leaseEnd = a.Clock.Now().Add(a.Config.Lease)
		won, err := a.putNew(ctx, v, ttl)
		if won || err != nil {
			return nil, err
		}
		a.sawOther = true
		stands, err := a.Read(ctx)
		if stands != nil || err != nil {
			return stands, err
		}
	}
	somebody := a.Pending()
	somebody.Token = ""
	return &somebody, nil
}

// Answer compares the payloads first, in every state; then it gives the result
// back, or says that somebody is at work.
func (a *Attempt) Answer(v Value, source idempotency.Source) (idempotency.Outcome, error) {
	same, err := a.Req.Fingerprint.Matches(v.Fingerprint)
	switch {
	case err != nil:
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	case !same:
		return idempotency.Outcome{}, &idempotency.KeyReusedError{Stored: v.Fingerprint, Got: a.Req.Fingerprint.String()}
	case v.State == store.Pending:
		return idempotency.Outcome{}, &idempotency.InProgressError{}
	case v.Form == store.TooLarge:
		return idempotency.Outcome{}, idempotency.ErrResultTooLarge
	}
	return idempotency.Outcome{Result: v.Result, Source: source, Stored: true}, nil
}

// StoreDown applies the policy. Who has seen something under the key never runs:
// its owner may be charging at this moment.
func (a *Attempt) StoreDown(ctx context.Context, err error) (idempotency.Outcome, error) {
	if gone := ctx.Err(); gone != nil {
		return idempotency.Outcome{}, gone
	}
	if a.sawOther || a.Config.FailClosed {
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	a.log(ctx, "store down: running unprotected", err)
	return a.Run(ctx, idempotency.Unprotected)
}

// Run makes the effect and settles. From here on the client's leaving changes
// nothing. A panic of the action leaves the claim to its expiry.
func (a *Attempt) Run(ctx context.Context, source idempotency.Source) (idempotency.Outcome, error) {
	ctx = context.WithoutCancel(ctx)
	result, err := a.execute(ctx)
	if err != nil {
		return a.failed(ctx, a.parts.Fail(ctx, a, err))
	}
	stands, err := a.parts.Complete(ctx, a, result)
	out := idempotency.Outcome{Result: result, Source: source}
	switch {
	case err != nil:
		// The claim is left in place: deleting it would let the next retry charge.
		a.log(ctx, "result not stored", err)
		return out, nil
	case stands != nil:
		return a.superseded(ctx, out, *stands)
	}
	out.Stored = len(result) <= a.Config.MaxResult
	return out, nil
}

// execute calls the action until shortly before the lease ends.
func (a *Attempt) execute(ctx context.Context) ([]byte, error) {
	ctx, cancel := a.Clock.WithDeadline(ctx, a.leaseEnd.Add(-a.Config.CompleteFor))
	defer cancel()
	return a.Act(idempotency.WithProviderKey(ctx, a.parts.ProviderKey(a)))
}

// ProviderKey is the first generation's: a release leaves nothing to count by.
func (a *Attempt) ProviderKey() string { return a.Req.ProviderKey(1) }

// superseded answers for an owner that was overtaken with what stands, and reports
// its own effect. If another payload has taken the key since, this effect is the
// only one of its request: nothing is an orphan, and the success is told as it is.
func (a *Attempt) superseded(ctx context.Context, mine idempotency.Outcome, stands Value) (idempotency.Outcome, error) {
	out, err := a.parts.Answer(a, stands, idempotency.Superseded)
	switch {
	case errors.Is(err, idempotency.ErrKeyReused):
		return mine, nil
	case err == nil && bytes.Equal(out.Result, mine.Result):
		return out, nil // one effect, told twice
	}
	a.log(ctx, "effect without an answer: the claim was overtaken", err)
	a.Config.OnOrphan(ctx, idempotency.Orphan{Request: a.Req, Result: mine.Result, Stands: out.Result})
	return out, err
}

// Complete keeps the result until retention ends.
func (a *Attempt) Complete(ctx context.Context, result []byte) (*Value, error) {
	return a.Settle(ctx, a.Done(result), a.Config.Retention)
}

// Settle writes a value over this attempt's own claim, or where none is. It looks
// first, and that is not the same as writing only as owner.
func (a *Attempt) Settle(ctx context.Context, v Value, ttl time.Duration) (stands *Value, err error) {
	err = a.insist(ctx, func() error {
		stands, err = a.Read(ctx)
		if err != nil || stands != nil && !a.Owns(*stands) {
			return err
		}
		stands = nil
		return a.Put(ctx, v, ttl)
	})
	return stands, err
}

// Fail frees the key: errors are not kept. But an outcome that is known to be
// unknown leaves the claim in place until it ends; a retry before that would charge.
func (a *Attempt) Fail(ctx context.Context, cause error) error {
	if errors.Is(cause, idempotency.ErrUnknownOutcome) {
		return cause
	}
	if err := a.Release(ctx); err != nil {
		a.log(ctx, "claim not released", err)
	}
	return cause
}

// failed is what the caller is told of an error. "No effect" speaks of this attempt's
// call alone: where another had taken the claim over, what stands is told.
func (a *Attempt) failed(ctx context.Context, cause error) (idempotency.Outcome, error) {
	if a.others == nil || !errors.Is(cause, idempotency.ErrNoEffect) || errors.Is(cause, idempotency.ErrUnknownOutcome) {
		return idempotency.Outcome{}, cause
	}
	a.log(ctx, "no effect, and the claim was overtaken", cause)
	out, err := a.parts.Answer(a, *a.others, idempotency.Superseded)
	if errors.Is(err, idempotency.ErrKeyReused) {
		return idempotency.Outcome{}, cause // that is another request
	}
	return out, err
}

// Release deletes this attempt's own claim, and no other's.
func (a *Attempt) Release(ctx context.Context) error {
	return a.insist(ctx, func() error {
		stands, err := a.Read(ctx)
		if err == nil && stands != nil && !a.Owns(*stands) {
			a.others = stands
		}
		if err != nil || stands == nil || !a.Owns(*stands) {
			return err
		}
		return a.KV.Delete(ctx, a.Name)
	})
}

// insist tries until the store has done it, for as long as the configuration says
// and never past the lease; but once only where the store was down before.
func (a *Attempt) insist(ctx context.Context, try func() error) error {
	until := a.Clock.Now().Add(a.Config.CompleteFor)
	if a.leaseEnd.Before(until) {
		until = a.leaseEnd
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := try()
		if err == nil || a.blind || a.Clock.Now().Add(pause).After(until) {
			return err
		}
		if a.Clock.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

func (a *Attempt) log(ctx context.Context, message string, err error) {
	a.Config.Logger.Log(ctx, slog.LevelWarn, "idempotency: "+message, "operation", a.Req.Operation, "error", err)
}
