package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/cache"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
)

// counted is a key-value store whose commands are counted and can fail.
type counted struct {
	store.KV
	commands         atomic.Int64
	getDown, setDown atomic.Bool
}

var errDown = fmt.Errorf("connection refused: %w", store.ErrUnavailable)

func (c *counted) Get(ctx context.Context, name string) ([]byte, bool, error) {
	c.commands.Add(1)
	if c.getDown.Load() {
		return nil, false, errDown
	}
	return c.KV.Get(ctx, name)
}

func (c *counted) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error) {
	c.commands.Add(1)
	if c.setDown.Load() {
		return false, errDown
	}
	return c.KV.SetNX(ctx, name, value, ttl)
}

type till struct{ charges atomic.Int64 }

func (p *till) charge(context.Context) ([]byte, error) {
	return fmt.Appendf(nil, "ch_%d", p.charges.Add(1)), nil
}

func newCache(t *testing.T, cfg reservation.Config) (*cache.Coordinator, *counted) {
	t.Helper()
	kv := &counted{KV: memstore.New(clock.Real{})}
	c, err := cache.New(kv, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, kv
}

func request(t *testing.T, amount int) idempotency.Request {
	t.Helper()
	f, err := idempotency.FingerprintFields(map[string]any{"amount": amount})
	if err != nil {
		t.Fatal(err)
	}
	return idempotency.Request{Operation: "order.create", Key: "k1", Fingerprint: f}
}

func wants(t *testing.T, out idempotency.Outcome, err error, result string, source idempotency.Source) {
	t.Helper()
	if err != nil || string(out.Result) != result || out.Source != source {
		t.Fatalf("got %s from %s, error %v; want %s from %s", out.Result, out.Source, err, result, source)
	}
}

// The first row of the article: the answers agree and the card is charged twice.
func TestOverlapChargesTwiceAndTheAnswersAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCache(t, reservation.Config{})
		p := &till{}
		type answer struct {
			out idempotency.Outcome
			err error
		}
		answers := make(chan answer, 2)
		gates := []chan struct{}{make(chan struct{}), make(chan struct{})}
		for _, gate := range gates {
			go func() {
				out, err := c.Do(t.Context(), request(t, 100), func(ctx context.Context) ([]byte, error) {
					result, err := p.charge(ctx) // charged; the answer is under way
					<-gate
					return result, err
				})
				answers <- answer{out, err}
			}()
			synctest.Wait()
		}
		close(gates[0])
		first := <-answers
		wants(t, first.out, first.err, "ch_1", idempotency.Executed)
		close(gates[1])
		second := <-answers
		wants(t, second.out, second.err, "ch_1", idempotency.Replayed)
		if n := p.charges.Load(); n != 2 {
			t.Errorf("%d charges: cache has lost its fault", n)
		}
	})
}

func TestOneAfterTheOtherItIsHonest(t *testing.T) {
	c, kv := newCache(t, reservation.Config{})
	p := &till{}
	out, err := c.Do(t.Context(), request(t, 100), p.charge)
	wants(t, out, err, "ch_1", idempotency.Executed)
	if n := kv.commands.Swap(0); n != 2 || !out.Stored {
		t.Errorf("fresh: %d commands, stored %v", n, out.Stored)
	}
	out, err = c.Do(t.Context(), request(t, 100), p.charge)
	wants(t, out, err, "ch_1", idempotency.Replayed)
	if n := kv.commands.Swap(0); n != 1 || !out.Stored {
		t.Errorf("replay: %d commands, stored %v", n, out.Stored)
	}
	if _, err := c.Do(t.Context(), request(t, 5), p.charge); !errors.Is(err, idempotency.ErrKeyReused) {
		t.Errorf("other payload: %v", err)
	}
	if n := p.charges.Load(); n != 1 {
		t.Errorf("%d charges", n)
	}
}

func TestErrorsAreNotStored(t *testing.T) {
	c, _ := newCache(t, reservation.Config{})
	errCard := errors.New("timed out")
	_, err := c.Do(t.Context(), request(t, 100), func(context.Context) ([]byte, error) { return nil, errCard })
	if !errors.Is(err, errCard) {
		t.Errorf("%v", err)
	}
	out, err := c.Do(t.Context(), request(t, 100), (&till{}).charge)
	wants(t, out, err, "ch_1", idempotency.Executed)
}

func TestStoreDown(t *testing.T) {
	open, kv := newCache(t, reservation.Config{})
	kv.getDown.Store(true)
	out, err := open.Do(t.Context(), request(t, 100), (&till{}).charge)
	wants(t, out, err, "ch_1", idempotency.Unprotected)

	closed, kv := newCache(t, reservation.Config{StoreDown: reservation.FailClosed})
	kv.getDown.Store(true)
	p := &till{}
	if _, err := closed.Do(t.Context(), request(t, 100), p.charge); !errors.Is(err, idempotency.ErrStoreUnavailable) || !errors.Is(err, errDown) {
		t.Errorf("fail closed: %v", err)
	}
	if p.charges.Load() != 0 {
		t.Error("fail closed: it ran")
	}
}

// A result that was not stored is a charge that the next retry makes again.
func TestALostWriteIsALostCharge(t *testing.T) {
	c, kv := newCache(t, reservation.Config{})
	p := &till{}
	kv.setDown.Store(true)
	out, err := c.Do(t.Context(), request(t, 100), p.charge)
	wants(t, out, err, "ch_1", idempotency.Executed)
	if out.Stored {
		t.Error("said to be stored")
	}
	kv.setDown.Store(false)
	out, err = c.Do(t.Context(), request(t, 100), p.charge)
	wants(t, out, err, "ch_2", idempotency.Executed)
}

// The client hangs up after the charge: the action's error is all that is left.
func TestTheActionDiesWithItsClient(t *testing.T) {
	c, _ := newCache(t, reservation.Config{})
	p := &till{}
	ctx, hangUp := context.WithCancel(t.Context())
	_, err := c.Do(ctx, request(t, 100), func(ctx context.Context) ([]byte, error) {
		_, _ = p.charge(ctx)
		hangUp()
		return nil, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	out, err := c.Do(t.Context(), request(t, 100), p.charge)
	wants(t, out, err, "ch_2", idempotency.Executed)
}

func TestNoProviderKeyIsHandedOn(t *testing.T) {
	c, _ := newCache(t, reservation.Config{})
	_, _ = c.Do(t.Context(), request(t, 100), func(ctx context.Context) ([]byte, error) {
		if key := idempotency.ProviderKey(ctx); key != "" {
			t.Errorf("handed on %q", key)
		}
		return nil, nil
	})
}

func TestWhatCannotBeReadNeverRuns(t *testing.T) {
	for why, value := range map[string]string{
		"not an entry":            `nonsense`,
		"a version not known yet": `{"fingerprint":"v99:abc","result":""}`,
	} {
		c, kv := newCache(t, reservation.Config{})
		if _, err := kv.KV.SetNX(t.Context(), request(t, 100).StoredName(), []byte(value), time.Hour); err != nil {
			t.Fatal(err)
		}
		p := &till{}
		if _, err := c.Do(t.Context(), request(t, 100), p.charge); !errors.Is(err, idempotency.ErrStoreUnavailable) || p.charges.Load() != 0 {
			t.Errorf("%s: %v, %d charges", why, err, p.charges.Load())
		}
	}
}

func TestRefusals(t *testing.T) {
	c, kv := newCache(t, reservation.Config{})
	req := request(t, 100)
	req.Key = ""
	if _, err := c.Do(t.Context(), req, (&till{}).charge); !errors.Is(err, idempotency.ErrInvalidKey) || kv.commands.Load() != 0 {
		t.Errorf("empty key: %v after %d commands", err, kv.commands.Load())
	}
	if _, err := cache.New(nil, reservation.Config{}); err == nil {
		t.Error("no store: accepted")
	}
	var refused *reservation.ConfigError
	if _, err := cache.New(kv, reservation.Config{Retention: time.Second}); !errors.As(err, &refused) || refused.Field != "Retention" {
		t.Errorf("short retention: %v", err)
	}
}
