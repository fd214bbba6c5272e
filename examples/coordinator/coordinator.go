// Package coordinator is an example: a small coordinator of somebody's own, straight on
// go-redis, and how its test has it examined by idemrace.
//
// A claim is SET NX PX, a result is written by a script that first looks whether the
// claim is still there. It refuses duplicates instead of letting them wait, fails
// closed, and renews nothing. What that costs is in the list that its test declares.
package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/redis/go-redis/v9"
)

// Scripts are sent as they are once, and by digest from then on.
var (
	//go:embed complete.lua
	completeText string
	//go:embed release.lua
	releaseText string
)

// Coordinator handles a request once. Its zero value is of no use; see New.
type Coordinator struct {
	rdb               redis.UniversalClient
	cfg               Config
	complete, release *redis.Script
}

// Config of a coordinator.
type Config struct {
	Prefix    string        // of every name in Redis
	Lease     time.Duration // must outlast the slowest honest attempt; 0 means 30 s
	Retention time.Duration // must outlast the latest retry; 0 means 24 h
	// OnOrphan is told of an effect that no answer names: it has to be voided.
	OnOrphan func(context.Context, idempotency.Orphan)
}

// New makes a coordinator on rdb, which remains the caller's to close.
func New(rdb redis.UniversalClient, cfg Config) *Coordinator {
	cfg.Lease = cmp.Or(cfg.Lease, 30*time.Second)
	cfg.Retention = cmp.Or(cfg.Retention, 24*time.Hour)
	if cfg.OnOrphan == nil {
		cfg.OnOrphan = func(context.Context, idempotency.Orphan) {}
	}
	return &Coordinator{rdb, cfg, redis.NewScript(completeText), redis.NewScript(releaseText)}
}

// record is what stands under a name. That a claim says "pending" lets idemrace end
// its lease by command.
type record struct {
	State       string `json:"state"` // pending or done
	Fingerprint string `json:"fingerprint"`
	Token       string `json:"token,omitempty"`  // pending: whose claim it is
	Result      []byte `json:"result,omitempty"` // done
}

func (r record) String() string {
	b, _ := json.Marshal(r) // strings and bytes always marshal
	return string(b)
}

// Do implements idempotency.Coordinator.
func (c *Coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if err := req.Validate(); err != nil {
		return idempotency.Outcome{}, err
	}
	name := c.cfg.Prefix + req.StoredName()
	claim := record{State: "pending", Fingerprint: req.Fingerprint.String(), Token: rand.Text()}
	stands, err := c.claim(ctx, name, claim)
	switch {
	case err != nil:
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	case stands.Token == claim.Token:
		// From here on nothing ends with the client: the effect must be written down.
		return c.run(context.WithoutCancel(ctx), name, req, claim, act)
	}
	return answer(req, stands, idempotency.Replayed)
}

// claim returns what stands under the name: the claim itself, or what was there.
func (c *Coordinator) claim(ctx context.Context, name string, claim record) (record, error) {
	for range 3 { // what was in the way may be gone when it is looked at
		won, err := c.rdb.SetNX(ctx, name, claim.String(), c.cfg.Lease).Result()
		if err != nil {
			return record{}, err
		}
		if won {
			return claim, nil
		}
		text, err := c.rdb.Get(ctx, name).Bytes()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return record{}, err
		}
		var stands record
		return stands, json.Unmarshal(text, &stands) // its own, if only the reply was lost
	}
	return record{}, errors.New("the key is claimed and freed all the time")
}

// answer is what a record says to a request.
func answer(req idempotency.Request, stands record, source idempotency.Source) (idempotency.Outcome, error) {
	same, err := req.Fingerprint.Matches(stands.Fingerprint)
	switch {
	case err != nil:
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	case !same:
		return idempotency.Outcome{}, &idempotency.KeyReusedError{Stored: stands.Fingerprint, Got: req.Fingerprint.String()}
	case stands.State == "done":
		return idempotency.Outcome{Result: stands.Result, Source: source, Stored: true}, nil
	}
	return idempotency.Outcome{}, &idempotency.InProgressError{}
}

// run acts as the owner of the claim.
func (c *Coordinator) run(ctx context.Context, name string, req idempotency.Request, claim record, act idempotency.Action) (idempotency.Outcome, error) {
	// Whoever outlasts its lease is overtaken, so the action ends a little before.
	within, cancel := context.WithTimeout(ctx, c.cfg.Lease*9/10)
	defer cancel()
	result, err := act(idempotency.WithProviderKey(within, req.ProviderKey(1)))
	if errors.Is(err, idempotency.ErrUnknownOutcome) {
		return idempotency.Outcome{}, err // the claim stays until its lease ends
	}
	if err != nil {
		return c.failed(ctx, name, req, claim, err)
	}
	done := record{State: "done", Fingerprint: claim.Fingerprint, Result: result}
	text, err := c.complete.Run(ctx, c.rdb, []string{name}, claim.String(), done.String(), c.cfg.Retention.Milliseconds()).Text()
	if err != nil {
		// The effect is made: that it could not be written down is no failure of it.
		return idempotency.Outcome{Result: result, Source: idempotency.Executed}, nil
	}
	if text == done.String() {
		return idempotency.Outcome{Result: result, Source: idempotency.Executed, Stored: true}, nil
	}
	return c.superseded(ctx, req, result, text)
}

// failed frees the key. "No effect" is said of this call alone: where somebody else has
// the key by now, and has charged or may, it is not the last word, and what stands is told.
func (c *Coordinator) failed(ctx context.Context, name string, req idempotency.Request, claim record, cause error) (idempotency.Outcome, error) {
	text, err := c.release.Run(ctx, c.rdb, []string{name}, claim.String()).Text()
	var stands record
	if err != nil || text == "" || !errors.Is(cause, idempotency.ErrNoEffect) || json.Unmarshal([]byte(text), &stands) != nil {
		return idempotency.Outcome{}, cause // if the store did not answer, the lease gives the key back
	}
	if out, err := answer(req, stands, idempotency.Superseded); !errors.Is(err, idempotency.ErrKeyReused) {
		return out, err
	}
	return idempotency.Outcome{}, cause
}

// superseded: the lease had ended, and somebody else has the key.
func (c *Coordinator) superseded(ctx context.Context, req idempotency.Request, result []byte, text string) (idempotency.Outcome, error) {
	var stands record
	if err := json.Unmarshal([]byte(text), &stands); err != nil {
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	c.cfg.OnOrphan(ctx, idempotency.Orphan{Request: req, Result: result, Stands: stands.Result})
	if same, err := req.Fingerprint.Matches(stands.Fingerprint); err != nil || !same {
		// "Key reused" would say that nothing was done.
		return idempotency.Outcome{}, fmt.Errorf("%w: overtaken by another request with the same key", idempotency.ErrUnknownOutcome)
	}
	return answer(req, stands, idempotency.Superseded)
}
