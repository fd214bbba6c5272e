package idempotencyhttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotency/idempotencyhttp"
	"github.com/idemrace/idemrace/impl/reservation"
)

func TestIncompleteMiddlewareIsRefusedAtTheStart(t *testing.T) {
	cases := []struct {
		change func(*idempotencyhttp.Middleware)
		want   string // "" if it is right
	}{
		{func(*idempotencyhttp.Middleware) {}, ""},
		{func(m *idempotencyhttp.Middleware) { m.Coordinator = nil }, "no Coordinator"},
		{func(m *idempotencyhttp.Middleware) { m.Scope = nil }, "no Scope"},
		{func(m *idempotencyhttp.Middleware) { m.Fields = nil }, "neither Fields nor Fingerprint"},
		{func(m *idempotencyhttp.Middleware) { m.Fingerprint = wholeBody }, "both Fields and Fingerprint"},
		{func(m *idempotencyhttp.Middleware) { m.Fields, m.Fingerprint = nil, wholeBody }, ""},
		{func(m *idempotencyhttp.Middleware) { m.MaxBody = -1 }, "negative"},
		{func(m *idempotencyhttp.Middleware) { m.MaxResult = -1 }, "negative"},
		{func(m *idempotencyhttp.Middleware) { m.Headers = []string{"X-Charge"} }, ""},
		{func(m *idempotencyhttp.Middleware) { m.Headers = []string{"set-cookie"} }, "set-cookie cannot be kept"},
		{func(m *idempotencyhttp.Middleware) { m.Headers = []string{"Date"} }, "Date cannot be kept"},
		{func(m *idempotencyhttp.Middleware) { m.Headers = []string{"WWW-Authenticate"} }, "WWW-Authenticate cannot be kept"},
		{func(m *idempotencyhttp.Middleware) { m.Headers = []string{"Transfer-Encoding"} }, "Transfer-Encoding cannot be kept"},
	}
	for _, c := range cases {
		m := on(coordinator(runs))
		c.change(&m)
		if got := panicOf(func() { m.Wrap(&bank{}) }); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("panics with %q, want %q", got, c.want)
		}
	}
}

func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = p.(string)
		}
	}()
	f()
	return ""
}

func wholeBody(_ *http.Request, body []byte) (idempotency.Fingerprint, error) {
	return idempotency.FingerprintFields(map[string]any{"body": string(body)})
}

func TestWhatIsNotProtectedNeverReachesTheCoordinator(t *testing.T) {
	never := coordinator(func(context.Context, idempotency.Request, idempotency.Action) (idempotency.Outcome, error) {
		t.Error("the coordinator was asked")
		return idempotency.Outcome{}, nil
	})
	m := on(never)
	m.Required = false
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		idempotencyhttp.NoEffect(r) // without meaning here, and without harm
		_, _ = io.Copy(w, r.Body)
	})
	keyless := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("no JSON"))
	if got := answer(m.Wrap(echo), keyless); got.StatusCode != http.StatusOK || text(t, got) != "no JSON" {
		t.Errorf("without a key: %d", got.StatusCode)
	}
	m.Required = true
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace} {
		r := httptest.NewRequest(method, "/", nil)
		r.Header.Set("Idempotency-Key", "k1")
		if got := answer(m.Wrap(echo), r); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", method, got.StatusCode)
		}
	}
}

// requestOf is what a coordinator is told of a request.
func requestOf(m idempotencyhttp.Middleware, serve func(http.Handler) http.Handler, r *http.Request) (req idempotency.Request) {
	m.Coordinator = coordinator(func(_ context.Context, got idempotency.Request, _ idempotency.Action) (idempotency.Outcome, error) {
		req = got
		return idempotency.Outcome{}, nil
	})
	answer(serve(m.Wrap(&bank{})), r)
	return req
}

func TestOperationAndTenant(t *testing.T) {
	m := on(coordinator(runs))
	m.Scope = func(r *http.Request) (string, error) { return r.Header.Get("Shop"), nil }
	behind := func(pattern string) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle(pattern, h)
			return mux
		}
	}
	cases := []struct {
		pattern, want, reason string
	}{
		{"POST /charges", "POST /charges", "a pattern with its method"},
		{"/charges", "POST /charges", "one for all methods"},
		{"/{thing}", "POST /{thing}", "an operation is not its object"},
	}
	for _, c := range cases {
		r := charge("k1", order)
		r.Header.Set("Shop", "shop-1")
		if got := requestOf(m, behind(c.pattern), r); got.Operation != c.want || got.Tenant != "shop-1" {
			t.Errorf("%s (%s): %q of %q", c.pattern, c.reason, got.Operation, got.Tenant)
		}
	}
	alone := func(h http.Handler) http.Handler { return h }
	if got := requestOf(m, alone, charge("k1", order)); got.Operation != "POST /charges" {
		t.Errorf("no mux: %q", got.Operation)
	}
	m.Operation = func(*http.Request) string { return "charge.create" }
	if got := requestOf(m, alone, charge("k1", order)); got.Operation != "charge.create" {
		t.Errorf("said: %q", got.Operation)
	}
}

// Two requests are one if the named members and the path are equal.
func TestFieldsAndPath(t *testing.T) {
	m := on(coordinator(runs))
	m.Fields = []string{"amount", "card.last4"}
	of := func(path, body string) idempotency.Fingerprint {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Idempotency-Key", "k1")
		return requestOf(m, func(h http.Handler) http.Handler { return h }, r).Fingerprint
	}
	first := of("/charges/1/capture", `{"amount":100,"card":{"last4":"4242"},"trace":1}`)
	cases := []struct {
		path, body string
		same       bool
		reason     string
	}{
		{"/charges/1/capture", `{"trace":2,"card":{"last4":"4242"},"amount":1e2}`, true, "order, spelling and what is not named do not count"},
		{"/charges/1/capture?trace=1", `{"amount":100,"card":{"last4":"4242"}}`, true, "the query does not count"},
		{"/charges/1/capture", `{"amount":5,"card":{"last4":"4242"}}`, false, "the amount does"},
		{"/charges/1/capture", `{"amount":100,"card":{"last4":"1111"}}`, false, "a member below does"},
		{"/charges/2/capture", `{"amount":100,"card":{"last4":"4242"}}`, false, "another charge's capture is another request"},
	}
	if first.IsZero() {
		t.Fatal("no fingerprint")
	}
	for _, c := range cases {
		if got := of(c.path, c.body); (got == first) != c.same || got.IsZero() {
			t.Errorf("%s %s: want same %v (%s)", c.path, c.body, c.same, c.reason)
		}
	}
	for _, bad := range []string{"", "null", "[]", "{", `{"amount":1,"amount":2}`, `{"amount":1}},"x":{`, `{"amount":1,"card":7}`} {
		if got := of("/", bad); !got.IsZero() {
			t.Errorf("%s got through", bad)
		}
	}
}

// The handler finds the body as if nobody had read it.
func TestTheBodyIsThereAgain(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.ContentLength != int64(len(body)) || r.PathValue("id") != "1" {
			t.Errorf("%v; %d bytes of %d; id %q", err, len(body), r.ContentLength, r.PathValue("id"))
		}
		_, _ = w.Write(body)
	})
	mux := http.NewServeMux()
	mux.Handle("POST /charges/{id}", on(waiting(t, reservation.Config{})).Wrap(echo))
	s := server(t, mux)
	chunked := struct{ io.Reader }{strings.NewReader(order)} // of unknown length
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/charges/1", chunked)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", "k1")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if body := text(t, got); body != order {
		t.Errorf("the handler read %q", body)
	}
}

// A refusal before the body has been read leaves the connection in order: the next
// request goes over the same one.
func TestARefusalLeavesTheConnectionInOrder(t *testing.T) {
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(on(waiting(t, reservation.Config{})).Wrap(&bank{}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	})
	long := `{"amount":100,"note":"` + strings.Repeat(".", 100_000) + `"}`
	for _, c := range []struct {
		key  string
		want int
	}{{`"`, http.StatusBadRequest}, {"k1", http.StatusCreated}, {"k1", http.StatusCreated}} {
		got, err := send(t.Context(), t, s.URL, c.key, long)
		if err != nil {
			t.Fatal(err)
		}
		if text(t, got); got.StatusCode != c.want {
			t.Errorf("%q: %d", c.key, got.StatusCode)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A body that breaks off, or does not come, executes nothing.
func TestHalfABody(t *testing.T) {
	b := &bank{}
	h := on(waiting(t, reservation.Config{})).Wrap(b)
	for err, want := range map[error]int{io.ErrUnexpectedEOF: http.StatusBadRequest, os.ErrDeadlineExceeded: http.StatusRequestTimeout} {
		r := charge("k1", "")
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"amount":`), iotest.ErrReader(err)))
		if got := answer(h, r); got.StatusCode != want {
			t.Errorf("%v: %d", err, got.StatusCode)
		}
	}
	if b.made() != 0 {
		t.Error("it was executed")
	}
}
