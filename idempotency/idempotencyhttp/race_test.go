package idempotencyhttp_test

import (
	"bytes"
	"context"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotency/idempotencyhttp"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/impl/wait"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
)

// gate is a bank that charges when it is let.
type gate struct {
	bank
	arrived, open chan struct{}
}

func newGate() *gate {
	g := &gate{arrived: make(chan struct{}, 100), open: make(chan struct{})}
	g.then = func(w http.ResponseWriter, _ *http.Request, _ int) {
		g.arrived <- struct{}{}
		<-g.open
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"ch_1"}`))
	}
	return g
}

// Twenty at once: one charge, and twenty equal answers.
func TestABurstThatWaits(t *testing.T) {
	g := newGate()
	s := server(t, on(waiting(t, reservation.Config{})).Wrap(g))
	var all sync.WaitGroup
	fresh := make(chan bool, 20)
	for range 20 {
		all.Go(func() {
			got, err := send(t.Context(), t, s.URL, "k1", order)
			if err != nil {
				t.Error(err)
				return
			}
			if body := text(t, got); got.StatusCode != http.StatusCreated || body != `{"id":"ch_1"}` {
				t.Errorf("%d %s", got.StatusCode, body)
			}
			fresh <- got.Header.Get(idempotencyhttp.ReplayedHeader) == ""
		})
	}
	<-g.arrived
	close(g.open)
	all.Wait()
	close(fresh)
	n := 0
	for f := range fresh {
		if f {
			n++
		}
	}
	if g.made() != 1 || n != 1 {
		t.Errorf("%d charges, %d fresh answers", g.made(), n)
	}
}

// With a coordinator that does not let wait, the others are told when.
func TestABurstThatIsRefused(t *testing.T) {
	g := newGate()
	s := server(t, on(raising(t, reservation.Config{})).Wrap(g))
	first := make(chan int, 1)
	go func() {
		got, err := send(t.Context(), t, s.URL, "k1", order)
		if err != nil {
			t.Error(err)
			first <- 0
			return
		}
		text(t, got)
		first <- got.StatusCode
	}()
	<-g.arrived
	var all sync.WaitGroup
	for range 19 {
		all.Go(func() {
			got, err := send(t.Context(), t, s.URL, "k1", order)
			if err != nil {
				t.Error(err)
				return
			}
			if body := text(t, got); got.StatusCode != http.StatusConflict || typeOf(body) != "TypeInProgress" || got.Header.Get("Retry-After") != "30" {
				t.Errorf("%d %s, Retry-After %s", got.StatusCode, body, got.Header.Get("Retry-After"))
			}
		})
	}
	all.Wait()
	close(g.open)
	if status := <-first; status != http.StatusCreated || g.made() != 1 {
		t.Errorf("the first got %d; %d charges", status, g.made())
	}
}

// Who hangs up does not end the charge, and gets its answer when it comes again.
func TestTheOwnersClientLeaves(t *testing.T) {
	g := newGate()
	left := make(chan struct{})
	inner := on(waiting(t, reservation.Config{})).Wrap(g)
	s := server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Idempotency-Key") == "k1" {
			stop := context.AfterFunc(r.Context(), func() { close(left) })
			defer stop()
		}
		inner.ServeHTTP(w, r)
	}))
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := send(ctx, t, s.URL, "k1", order)
		gone <- err
	}()
	<-g.arrived
	hangUp()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatalf("the client got %v", err)
	}
	<-left // the server knows
	close(g.open)
	got, err := send(t.Context(), t, s.URL, `"k1"`, order)
	if err != nil {
		t.Fatal(err)
	}
	if body := text(t, got); body != `{"id":"ch_1"}` || g.made() != 1 {
		t.Errorf("%s, %d charges", body, g.made())
	}
}

// watched is a store that says when somebody begins to wait.
type watched struct {
	store.Store
	waits chan struct{}
}

func (s watched) Await(ctx context.Context, t store.Ticket, limit time.Duration) (store.Notice, error) {
	s.waits <- struct{}{}
	return s.Store.Await(ctx, t, limit)
}

// A waiter whose client has left is not waited for: its request ends while the
// charge is still under way.
func TestAWaitersClientLeaves(t *testing.T) {
	g := newGate()
	over, second := make(chan struct{}), make(chan struct{}, 1)
	c, err := wait.New(watched{memstore.New(clock.Real{}), second}, clock.Real{}, reservation.Config{})
	if err != nil {
		t.Fatal(err)
	}
	inner := on(c).Wrap(g)
	s := server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Waiter") != "" {
			defer close(over)
		}
		inner.ServeHTTP(w, r)
	}))
	var all sync.WaitGroup
	all.Go(func() {
		got, err := send(t.Context(), t, s.URL, "k1", order)
		if err != nil {
			t.Error(err)
			return
		}
		text(t, got)
	})
	<-g.arrived
	ctx, hangUp := context.WithCancel(t.Context())
	all.Go(func() {
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(order))
		r.Header.Set("Idempotency-Key", "k1")
		r.Header.Set("Waiter", "yes")
		if got, err := http.DefaultClient.Do(r); err == nil {
			t.Errorf("the waiter was answered: %d", got.StatusCode)
			got.Body.Close()
		}
	})
	<-second
	hangUp()
	<-over // and the gate is still shut
	close(g.open)
	all.Wait()
}

// The handler's context does not end with the client's, has its values, and has the
// provider's key.
func TestTheHandlersContext(t *testing.T) {
	type user struct{}
	client, cancel := context.WithCancel(context.WithValue(t.Context(), user{}, "ann"))
	h := on(waiting(t, reservation.Config{})).Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		if err := r.Context().Err(); err != nil {
			t.Errorf("it has ended: %v", err)
		}
		if r.Context().Value(user{}) != "ann" || idempotency.ProviderKey(r.Context()) == "" {
			t.Error("it lacks the user or the provider's key")
		}
		if _, bounded := r.Context().Deadline(); !bounded {
			t.Error("it never ends")
		}
	}))
	answer(h, charge("k1", order).WithContext(client))
}

// A handler whose time is up and which returns without a word has not said 200.
func TestSilenceIsNoSuccess(t *testing.T) {
	var got error
	cut := coordinator(func(ctx context.Context, _ idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		var result []byte
		result, got = act(ctx)
		return idempotency.Outcome{Result: result, Source: idempotency.Executed}, got
	})
	silent := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	answered := answer(on(cut).Wrap(silent), charge("k1", order))
	if body := text(t, answered); answered.StatusCode != http.StatusConflict || typeOf(body) != "TypeUnknownOutcome" {
		t.Errorf("the client was told %d %s", answered.StatusCode, body)
	}
	if !errors.Is(got, idempotency.ErrUnknownOutcome) {
		t.Errorf("the coordinator was told %v", got)
	}
	spoken := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusCreated) })
	if answered := answer(on(cut).Wrap(spoken), charge("k1", order)); answered.StatusCode != http.StatusCreated || got != nil {
		t.Errorf("a handler that has answered: %d, %v", answered.StatusCode, got)
	}
}

// The coordinator is told of a panic, and so is the server.
func TestAPanic(t *testing.T) {
	var serverLog, ownLog bytes.Buffer
	b := &bank{then: func(w http.ResponseWriter, _ *http.Request, _ int) {
		_, _ = w.Write([]byte("half an answ"))
		panic("the bank's library")
	}}
	m := on(waiting(t, reservation.Config{}))
	m.Logger = slog.New(slog.NewTextHandler(&ownLog, nil))
	s := httptest.NewUnstartedServer(m.Wrap(b))
	s.Config.ErrorLog = log.New(&serverLog, "", 0)
	s.Start()
	if got, err := send(t.Context(), t, s.URL, "k1", order); err == nil {
		t.Errorf("the client was answered: %d", got.StatusCode)
		got.Body.Close()
	}
	got, err := send(t.Context(), t, s.URL, "k1", order)
	if err != nil {
		t.Fatal(err)
	}
	if body := text(t, got); got.StatusCode != http.StatusConflict || b.made() != 1 {
		t.Errorf("a retry: %d %s, %d charges", got.StatusCode, body, b.made())
	}
	http.DefaultClient.CloseIdleConnections()
	s.Close()
	if !strings.Contains(serverLog.String(), "the bank's library") {
		t.Errorf("the server was told %q", serverLog.String())
	}
	if !strings.Contains(ownLog.String(), "race_test.go") {
		t.Errorf("the log lacks the handler's stack: %s", ownLog.String())
	}
	if strings.Contains(ownLog.String(), "k1") {
		t.Errorf("the log shows the key: %s", ownLog.String())
	}
}

// http.ErrAbortHandler is a way to end a connection, and stays one.
func TestAbort(t *testing.T) {
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("it became %v", p)
		}
	}()
	answer(on(coordinator(runs)).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })), charge("k1", order))
}

// A coordinator that does not wait for its action gets no data race for it.
func TestACoordinatorThatDoesNotWait(t *testing.T) {
	var running sync.WaitGroup
	h := on(coordinator(func(ctx context.Context, _ idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
		running.Go(func() { _, _ = act(context.WithoutCancel(ctx)) })
		return idempotency.Outcome{}, &idempotency.InProgressError{}
	})).Wrap(&bank{})
	for range 20 {
		answer(h, charge("k1", order))
	}
	running.Wait()
}
