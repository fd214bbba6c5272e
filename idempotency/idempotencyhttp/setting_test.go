package idempotencyhttp_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotency/idempotencyhttp"
	"github.com/idemrace/idemrace/impl/raise"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/impl/wait"
	"github.com/idemrace/idemrace/store/memstore"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// order is a body whose amount counts, and whose trace does not.
const order = `{"amount":100,"trace":"t1"}`

// coordinator does what a test wants.
type coordinator func(context.Context, idempotency.Request, idempotency.Action) (idempotency.Outcome, error)

func (c coordinator) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	return c(ctx, req, act)
}

// runs executes and remembers nothing.
func runs(ctx context.Context, _ idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	result, err := act(ctx)
	return idempotency.Outcome{Result: result, Source: idempotency.Executed}, err
}

// fails answers with err, and runs nothing.
func fails(err error) coordinator {
	return func(context.Context, idempotency.Request, idempotency.Action) (idempotency.Outcome, error) {
		return idempotency.Outcome{}, err
	}
}

// gives answers with a kept result, and runs nothing.
func gives(result string) coordinator {
	return func(context.Context, idempotency.Request, idempotency.Action) (idempotency.Outcome, error) {
		return idempotency.Outcome{Result: []byte(result), Source: idempotency.Replayed, Stored: true}, nil
	}
}

func ownTenant(*http.Request) (string, error) { return "", nil }

// on is a complete middleware on c.
func on(c idempotency.Coordinator) idempotencyhttp.Middleware {
	return idempotencyhttp.Middleware{Coordinator: c, Scope: ownTenant, Fields: []string{"amount"}, Required: true}
}

// waiting and raising are real ones, on a memory of their own.
func waiting(t testing.TB, cfg reservation.Config) idempotency.Coordinator {
	c, err := wait.New(memstore.New(clock.Real{}), clock.Real{}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func raising(t testing.TB, cfg reservation.Config) idempotency.Coordinator {
	c, err := raise.New(memstore.New(clock.Real{}), clock.Real{}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bank is a handler that numbers its charges.
type bank struct {
	mu      sync.Mutex
	charges int
	then    func(w http.ResponseWriter, r *http.Request, n int)
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.charges++
	n := b.charges
	b.mu.Unlock()
	if b.then != nil {
		b.then(w, r, n)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", fmt.Sprintf("/charges/ch_%d", n))
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":"ch_%d"}`, n)
}

func (b *bank) made() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.charges
}

// charge is a request with a key.
func charge(key, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/charges", strings.NewReader(body))
	r.Header.Set("Idempotency-Key", key)
	return r
}

func answer(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t testing.TB, r *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	return string(body)
}

// typeOf is the type of a problem, without its base.
func typeOf(body string) string {
	_, rest, _ := strings.Cut(body, "idempotencyhttp#")
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// dump is all of an answer, as a reader can compare it.
func dump(t testing.TB, r *http.Response) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %s\n", r.StatusCode, http.StatusText(r.StatusCode))
	var names []string
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range r.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	fmt.Fprintf(&b, "\n%s", text(t, r))
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (write it anew with -update):\n%s", path, diff)
	}
}

// send is one request to a real server.
func send(ctx context.Context, t testing.TB, url, key, body string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", key)
	r.GetBody = nil // else the client sends it again by itself when a connection breaks
	return http.DefaultClient.Do(r)
}

// server is a real one; its client's connections end with the test.
func server(t testing.TB, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	})
	return s
}
