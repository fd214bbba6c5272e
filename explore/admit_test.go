package explore

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
)

func TestMain(m *testing.M) {
	if handled, code := AdmitChild(os.Args, os.Stdout, append(impl.All(), unruly()...)); handled {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// hidden is a coordinator that does something behind its ports' backs.
type hidden struct {
	env  impl.Env
	does func(ctx context.Context, env impl.Env)
}

func (h hidden) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if _, _, err := h.env.KV.Get(ctx, req.StoredName()); err != nil {
		return idempotency.Outcome{}, err
	}
	h.does(ctx, h.env)
	result, err := act(ctx)
	return idempotency.Outcome{Result: result, Source: idempotency.Executed}, err
}

func unruly() []impl.Entry {
	of := func(name string, does func(ctx context.Context, env impl.Env)) impl.Entry {
		return impl.Entry{Name: name, New: func(e impl.Env) (idempotency.Coordinator, error) { return hidden{e, does}, nil }}
	}
	shared := &sync.Mutex{}
	return []impl.Entry{
		of("sleeps", func(context.Context, impl.Env) { time.Sleep(50 * time.Millisecond) }),
		of("waits-on-channel", func(context.Context, impl.Env) { <-make(chan int) }),
		of("selects", func(ctx context.Context, _ impl.Env) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}),
		of("holds-a-lock", func(ctx context.Context, e impl.Env) {
			shared.Lock()
			defer shared.Unlock()
			_, _, _ = e.KV.Get(ctx, "another")
		}),
		of("starts-a-goroutine", func(context.Context, impl.Env) { go func() { time.Sleep(time.Second) }() }),
		of("calls-from-a-goroutine", func(ctx context.Context, e impl.Env) { go func() { _, _, _ = e.KV.Get(ctx, "x") }() }),
		of("spins", func(context.Context, impl.Env) {
			for began := time.Now(); time.Since(began) < time.Minute; {
			}
		}),
		of("never-ends", func(ctx context.Context, e impl.Env) {
			for {
				if _, _, err := e.KV.Get(ctx, "x"); err != nil {
					return
				}
			}
		}),
		of("behaves", func(context.Context, impl.Env) {}),
	}
}

// Each is refused by name and place, in less than two seconds.
func TestUnrulyCoordinatorsAreRefused(t *testing.T) {
	want := map[string]string{
		"sleeps":                 "time.Sleep",
		"waits-on-channel":       "chan receive",
		"selects":                "select",
		"holds-a-lock":           "sync.Mutex.Lock",
		"starts-a-goroutine":     "starts a goroutine",
		"calls-from-a-goroutine": "goroutine",
		"spins":                  "computes on and on",
		"never-ends":             "never comes to an end",
	}
	for _, e := range unruly() {
		began := time.Now()
		err := Admit(t.Context(), Config{Entry: e})
		took := time.Since(began)
		text := want[e.Name]
		t.Logf("%s after %v: %v", e.Name, took.Round(time.Millisecond), err)
		if text == "" {
			if err != nil {
				t.Errorf("%s: refused: %v", e.Name, err)
			}
			continue
		}
		if !errors.Is(err, ErrUncontrollable) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), e.Name) {
			t.Errorf("%s: %v; want %q", e.Name, err, text)
		}
		if place := "admit_test.go:"; e.Name != "never-ends" && !strings.Contains(err.Error(), place) {
			t.Errorf("%s: the place is missing: %v", e.Name, err)
		}
	}
}

// The whole catalogue can be controlled, but for what stands on a client of its own.
func TestTheCatalogueIsAdmitted(t *testing.T) {
	for _, e := range impl.All() {
		err := Admit(t.Context(), Config{Entry: e})
		if e.Unseen != errors.Is(err, ErrUncontrollable) || err != nil && !e.Unseen {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

func TestAdmitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Admit(ctx, Config{Entry: entry(t, "wait")}); err == nil || errors.Is(err, ErrUncontrollable) {
		t.Errorf("%v", err)
	}
}
