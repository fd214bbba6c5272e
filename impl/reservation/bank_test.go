package reservation_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/fenced"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// careful makes fenced, for a provider that honours keys or one that does not.
func careful(honours bool) constructor {
	return func(s store.Store, clk clock.Clock, cfg reservation.Config) (*reservation.Coordinator, error) {
		return fenced.New(s, clk, fenced.Config{Config: cfg, ProviderHonoursKeys: honours})
	}
}

func onHonouring(t *testing.T, test func(t *testing.T, s *setting)) { inBubble(t, careful(true), test) }

func onIgnoring(t *testing.T, test func(t *testing.T, s *setting)) { inBubble(t, careful(false), test) }

var errRunning = errors.New("a call with this key is running")

// bank is a provider. If it honours keys, it answers a second call with one key
// by the first one's charge, or by: it is running.
type bank struct {
	honours bool
	mu      sync.Mutex
	charges int
	calls   []string          // provider keys, in order of arrival
	byKey   map[string]string // "" while the first call runs
}

func newBank(honours bool) *bank { return &bank{honours: honours, byKey: map[string]string{}} }

// charge is one call; before is run between its arrival and its charge.
func (b *bank) charge(before func()) idempotency.Action {
	return func(ctx context.Context) ([]byte, error) {
		key := idempotency.ProviderKey(ctx)
		if known, err := b.arrive(key); known != nil || err != nil {
			return known, err
		}
		if before != nil {
			before()
		}
		return b.commit(key), nil
	}
}

func (b *bank) arrive(key string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, key)
	first, known := b.byKey[key]
	switch {
	case !b.honours || !known:
		b.byKey[key] = ""
		return nil, nil
	case first == "":
		return nil, fmt.Errorf("%w: %w", idempotency.ErrUnknownOutcome, errRunning)
	}
	return []byte(first), nil
}

func (b *bank) commit(key string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.charges++
	b.byKey[key] = fmt.Sprintf("ch_%d", b.charges)
	return []byte(b.byKey[key])
}

// silent charges, and its answer is lost.
func (b *bank) silent(ctx context.Context) ([]byte, error) {
	if _, err := b.charge(nil)(ctx); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: connection reset", idempotency.ErrUnknownOutcome)
}

// saw checks what the bank was asked and what it did.
func (b *bank) saw(t *testing.T, charges int, keys ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.charges != charges || fmt.Sprint(b.calls) != fmt.Sprint(keys) {
		t.Errorf("%d charges, calls with %v; want %d, %v", b.charges, b.calls, charges, keys)
	}
}
