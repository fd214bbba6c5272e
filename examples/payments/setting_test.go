package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/store/redisstore"
)

// asService is set where this test program is to be the service.
const asService = "PAYMENTS_TEST_IS_THE_SERVICE"

func TestMain(m *testing.M) {
	if os.Getenv(asService) != "" {
		main()
	}
	redisstore.Quiet()
	goleak.VerifyTestMain(m)
}

// provider serves the plain API of the fake provider.
func provider(t testing.TB, o fakeprovider.Options) (*fakeprovider.Provider, string) {
	p := fakeprovider.New(o)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Amount   int64
			Metadata struct{ Ref string }
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Errorf("the provider was sent: %v", err)
		}
		c, err := p.Charge(r.Context(), fakeprovider.Call{Ref: call.Metadata.Ref, Amount: call.Amount, Key: r.Header.Get("Idempotency-Key")})
		switch {
		case errors.Is(err, fakeprovider.ErrDeclined):
			w.WriteHeader(http.StatusPaymentRequired)
		case errors.Is(err, fakeprovider.ErrKeyReused):
			w.WriteHeader(http.StatusBadRequest)
		case errors.Is(err, fakeprovider.ErrKeyInUse):
			w.WriteHeader(http.StatusConflict)
		case errors.Is(err, fakeprovider.ErrTimeout):
			w.WriteHeader(http.StatusGatewayTimeout)
		case errors.Is(err, fakeprovider.ErrFailed):
			w.WriteHeader(http.StatusInternalServerError)
		case err != nil:
			panic(http.ErrAbortHandler)
		default:
			_ = json.NewEncoder(w).Encode(charged{c.ID, c.Amount})
		}
	}))
	t.Cleanup(func() {
		p.Close()
		s.CloseClientConnections()
		s.Close()
	})
	return p, s.URL
}

// redisURL is a Redis of this test's own.
func redisURL(t testing.TB) string {
	return "redis://" + miniredis.RunT(t).Addr()
}

// listening is the service's word that it can be asked.
var listening = regexp.MustCompile(`msg=listening .*url=(\S+)`)

// baseOf reads the log until the service listens, and the rest of it away.
func baseOf(t testing.TB, log io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return m[1]
		}
		t.Log(lines.Text())
	}
	t.Fatal("the service does not listen")
	return ""
}

func environment(worker, providerURL, redisURL string) func(string) string {
	return func(name string) string {
		return map[string]string{"PORT": "0", "WORKER": worker, "PROVIDER_URL": providerURL, "REDIS_URL": redisURL}[name]
	}
}

// start runs a worker inside the test until its end.
func start(t testing.TB, env func(string) string, args ...string) (base string) {
	ctx, stop := context.WithCancel(context.Background())
	log, stderr := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		if code := run(ctx, args, env, stderr); code != exitOK {
			t.Errorf("exit code %d", code)
		}
		stderr.Close()
	})
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		running.Wait()
	})
	return baseOf(t, log)
}

// pair starts two workers on one Redis.
func pair(t testing.TB, providerURL string, args ...string) (w1, w2 string) {
	url := redisURL(t)
	return start(t, environment("w1", providerURL, url), args...), start(t, environment("w2", providerURL, url), args...)
}

// reply is an answer, as tests look at it.
type reply struct {
	status   int
	body     string
	receipt  receipt
	header   http.Header
	replayed bool
}

// request is one to be sent; the zero value of all but key is an order of 100.
type request struct {
	key, body, tenant, operation string
}

const order100 = `{"amount":100,"currency":"EUR","ref":"r1"}`

func post(t testing.TB, base string, r request) reply {
	t.Helper()
	if r.body == "" {
		r.body = order100
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/charges", strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Tenant", r.tenant)
	q.Header.Set("X-Operation", r.operation)
	if r.key != "" {
		q.Header.Set("Idempotency-Key", r.key)
	}
	q.GetBody = nil // else the client may send it twice
	got, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Error(err)
	}
	out := reply{status: got.StatusCode, body: string(body), header: got.Header, replayed: got.Header.Get("Idempotent-Replayed") == "true"}
	_ = json.Unmarshal(body, &out.receipt)
	return out
}
