package fenced_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/fenced"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
)

// What renewal, takeover and Resolve do is tested in impl/reservation, which has
// them. Here: what fenced chooses, and what may be chosen otherwise.

var errCard = errors.New("card network timed out")

func request(t *testing.T) idempotency.Request {
	t.Helper()
	f, err := idempotency.FingerprintFields(map[string]any{"amount": 100})
	if err != nil {
		t.Fatal(err)
	}
	return idempotency.Request{Operation: "order.create", Key: "order-4711", Fingerprint: f}
}

func newOne(t *testing.T, s store.Store, cfg fenced.Config) *reservation.Coordinator {
	t.Helper()
	c, err := fenced.New(s, clock.Real{}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// After an error that says nothing, and the lease: who asks, and who does not?
func TestTheZeroConfigurationIsTheSafeSide(t *testing.T) {
	for _, row := range []struct {
		why string
		cfg fenced.Config
		ran bool
	}{
		{"a provider of which nothing is known is not asked", fenced.Config{}, false},
		{"one that honours keys is", fenced.Config{ProviderHonoursKeys: true}, true},
		{"the core's own policy does not go round it", fenced.Config{Config: reservation.Config{Takeover: reservation.TakeoverRuns}}, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, ran := newOne(t, memstore.New(clock.Real{}), row.cfg), false
				_, err := c.Do(t.Context(), request(t), func(ctx context.Context) ([]byte, error) {
					if end, _ := ctx.Deadline(); time.Until(end) != fenced.DefaultMaxRun {
						t.Errorf("the action has %v", time.Until(end))
					}
					return nil, errCard
				})
				if !errors.Is(err, idempotency.ErrUnknownOutcome) || !errors.Is(err, errCard) {
					t.Errorf("error %v", err)
				}
				time.Sleep(reservation.DefaultLease)
				_, err = c.Do(t.Context(), request(t), func(context.Context) ([]byte, error) { ran = true; return nil, nil })
				if ran != row.ran || errors.Is(err, idempotency.ErrUnknownOutcome) == row.ran {
					t.Errorf("ran %v, error %v", ran, err)
				}
			})
		})
	}
}

// down is a store that is.
type down struct{ store.Store }

func (down) Claim(context.Context, store.Claim) (store.Claimed, error) {
	return store.Claimed{}, store.ErrUnavailable
}

func TestItFailsClosedUnlessToldOtherwise(t *testing.T) {
	for policy, want := range map[reservation.Policy]error{"": idempotency.ErrStoreUnavailable, reservation.FailOpen: nil} {
		s := down{memstore.New(clock.Real{})}
		c := newOne(t, s, fenced.Config{Config: reservation.Config{StoreDown: policy}})
		if _, err := c.Do(t.Context(), request(t), func(context.Context) ([]byte, error) { return nil, nil }); !errors.Is(err, want) {
			t.Errorf("policy %q: %v, want %v", policy, err, want)
		}
	}
}

func TestDuplicatesWaitUnlessToldOtherwise(t *testing.T) {
	for duplicates, want := range map[reservation.Duplicates]error{"": nil, reservation.DuplicatesRaise: idempotency.ErrInProgress} {
		synctest.Test(t, func(t *testing.T) {
			c, gate, done := newOne(t, memstore.New(clock.Real{}), fenced.Config{Duplicates: duplicates}), make(chan struct{}), make(chan error, 2)
			for range 2 {
				go func() {
					_, err := c.Do(t.Context(), request(t), func(context.Context) ([]byte, error) { <-gate; return nil, nil })
					done <- err
				}()
				synctest.Wait()
			}
			close(gate)
			if a, b := <-done, <-done; !errors.Is(errors.Join(a, b), want) || want == nil && (a != nil || b != nil) {
				t.Errorf("%q: %v, %v; want %v", duplicates, a, b, want)
			}
		})
	}
}

// To free a key after an error that may hide a charge, and to know that takeovers
// must not run, is a contradiction.
func TestReleasingWithAProviderThatIgnoresKeysIsRefused(t *testing.T) {
	s, release := memstore.New(clock.Real{}), reservation.Config{OnError: reservation.Release}
	_, err := fenced.New(s, clock.Real{}, fenced.Config{Config: release})
	if refused, ok := errors.AsType[*reservation.ConfigError](err); !ok || refused.Field != "OnError" {
		t.Errorf("%v", err)
	}
	newOne(t, s, fenced.Config{Config: release, ProviderHonoursKeys: true})
}
