package httptarget

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/target"
)

// at is a cell of a target whose only worker is at url.
func at(t testing.TB, url string, change func(*Config)) *Cell {
	t.Helper()
	cfg := Config{Request: Request{Path: "/charges"}, Run: "run", Header: http.Header{"X-Idemrace-Run": {"run"}},
		Base: func(string) (string, error) { return url, nil }}
	if change != nil {
		change(&cfg)
	}
	tg, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tg.Close)
	return tg.In(NewNames("run", "1", nil), nil)
}

func attempt(n int) target.Attempt {
	return target.Attempt{Number: n, Client: "A", Worker: "w1", Operation: "charge", Key: "order-42", Ref: "r1", Amount: 100}
}

// net/http sends a request that has an Idempotency-Key again by itself when a
// connection that it had used before breaks: the race would be the client's. Here
// nothing is sent twice.
func TestNothingIsSentTwice(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var requests atomic.Int64
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for first := true; ; first = false {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					requests.Add(1)
					if !first {
						return // the connection breaks after a whole request
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"id\":\"ch_1\"}")
				}
			}()
		}
	}()
	c := at(t, "http://"+ln.Addr().String(), nil)
	if r := c.Send(t.Context(), attempt(1)); r.Answer != history.OK {
		t.Fatalf("%+v", r)
	}
	if r := c.Send(t.Context(), attempt(2)); r.Answer != history.UnknownOutcome {
		t.Errorf("a connection that broke is an unknown outcome: %+v", r)
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests arrived for two attempts", n)
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	defer close(release) // first: who hangs would hold up Close
	c := at(t, slow.URL, func(c *Config) { c.Request.Timeout = 50 * time.Millisecond })
	if r := c.Send(t.Context(), attempt(1)); r.Answer != history.UnknownOutcome || !strings.Contains(r.Detail, "no answer in time") {
		t.Errorf("patience: %+v", r)
	}
	ctx, hangUp := context.WithCancelCause(t.Context())
	patient := at(t, slow.URL, nil)
	patient.Watch(func(int) { hangUp(errors.New("had enough")) })
	if r := patient.Send(ctx, attempt(1)); r.Answer != history.HungUp || r.Detail != "had enough" {
		t.Errorf("hang-up: %+v", r)
	}
	if r := at(t, "http://127.0.0.1:1", nil).Send(t.Context(), attempt(1)); r.Answer != history.Error || !strings.Contains(r.Detail, "nobody listens") {
		t.Errorf("refused: %+v", r)
	}
}

func TestAnswersAreRead(t *testing.T) {
	for _, row := range []struct {
		why    string
		status int
		header http.Header
		body   string
		answer Answer
		want   target.Response
	}{
		{"a charge at a path", 201, nil, `{"data":{"id":"ch_1_1"},"amount":100}`, Answer{Charge: "data.id", Amount: "amount"}, target.Response{Answer: history.OK, Charge: "ch_1", Amount: 100, Status: 201}},
		{"a charge in a header", 200, http.Header{"X-Charge": {"ch_1_2"}}, "", Answer{Charge: "header:X-Charge"}, target.Response{Answer: history.OK, Charge: "ch_2", Status: 200}},
		{"a payment intent is its charge", 201, nil, `{"id":"pi_1_3"}`, Answer{}, target.Response{Answer: history.OK, Charge: "ch_3", Status: 201}},
		{"HTML", 200, nil, "<html>hello</html>", Answer{}, target.Response{Answer: history.OK, Status: 200, Detail: "the answer (200) names no charge at id: <html>hello</html>"}},
		{"no body", 204, nil, "", Answer{}, target.Response{Answer: history.OK, Status: 204, Detail: "the answer (204) names no charge at id: (no body)"}},
		{"conflict", 409, nil, "busy", Answer{}, target.Response{Answer: history.InProgress, Status: 409, Detail: "409 busy"}},
		{"control characters", 500, nil, "a\x1b[31mb\nc", Answer{}, target.Response{Answer: history.Error, Status: 500, Detail: "500 a [31mb c"}},
		{"compared", 201, http.Header{"X-A": {"1"}}, `{"id":"ch_1_1"}`, Answer{Compare: []string{"charge", "status", "header:X-A"}}, target.Response{Answer: history.OK, Charge: "ch_1", Status: 201, Body: "charge=ch_1, status=201, header:X-A=1"}},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range row.header {
				w.Header()[name] = values
			}
			w.WriteHeader(row.status)
			if row.body != "" {
				fmt.Fprint(w, row.body)
			}
		}))
		got := at(t, s.URL, func(c *Config) { c.Answer = row.answer }).Send(t.Context(), attempt(1))
		if got != row.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", row.why, got, row.want)
		}
		s.Close()
	}
}

func TestWords(t *testing.T) {
	named := func(name string) Profile { p, _ := Named(name); return p }
	own := func(p Profile) Profile { p, _ = Resolve(p); return p }
	for _, row := range []struct {
		why     string
		profile Profile
		status  int
		of      situation
		want    string
	}{
		{"created", named("any"), 201, situation{key: "k"}, history.OK},
		{"redirects are not followed", named("any"), 302, situation{key: "k"}, history.Error},
		{"any of the usual statuses is in progress", named("any"), 425, situation{key: "k"}, history.InProgress},
		{"locked", named("any"), 423, situation{key: "k"}, history.InProgress},
		{"a card is declined, whatever the profile", named("ietf"), 402, situation{key: "k"}, history.Declined},
		{"a rival is refused by any 4xx", named("any"), 409, situation{key: "k", rival: true}, history.KeyReused},
		{"ietf refuses a reuse by 422", named("ietf"), 422, situation{key: "k", rival: true}, history.KeyReused},
		{"a rival that is told 409 is told: in progress", named("ietf"), 409, situation{key: "k", rival: true}, history.InProgress},
		{"a status that the list does not have is a refusal", own(Profile{InFlight: []int{423}}), 409, situation{key: "k"}, history.Declined},
		{"stripe refuses a reuse by 400", named("stripe"), 400, situation{key: "k", rival: true}, history.KeyReused},
		{"an honest retry that is told 422 is told: reused", named("ietf"), 422, situation{key: "k"}, history.KeyReused},
		{"no key", named("ietf"), 400, situation{}, history.InvalidKey},
		{"no key, and not the status that was promised", named("ietf"), 422, situation{}, history.Declined},
		{"a long key may be refused", named("any"), 400, situation{key: strings.Repeat("k", 256)}, history.InvalidKey},
		{"an odd key may be refused", named("any"), 400, situation{key: "order 42"}, history.InvalidKey},
		{"a plain key that is refused is a refusal", named("any"), 400, situation{key: "order-42"}, history.Declined},
		{"500 says nothing for certain", named("any"), 500, situation{key: "k"}, history.Error},
		{"a time-out of the service says nothing", named("any"), 408, situation{key: "k"}, history.Error},
		{"503 of a service that fails closed", own(Profile{StoreDown: StoreClosed}), 503, situation{key: "k"}, history.StoreUnavailable},
		{"503 that says when to come again", named("any"), 503, situation{key: "k", retry: true}, history.StoreUnavailable},
		{"503 otherwise", named("any"), 503, situation{key: "k"}, history.Error},
	} {
		if got := row.profile.word(row.status, row.of); got != row.want {
			t.Errorf("%s: %d is %q, want %q", row.why, row.status, got, row.want)
		}
	}
}

func TestKeysHaveTheFormThatIsDemanded(t *testing.T) {
	for form, like := range map[string]string{"uuid": "-", "ulid": "", "shop_{{.Key}}": "shop_order-42-run-1"} {
		c := at(t, "http://127.0.0.1:1", func(c *Config) { c.Request.Key = form })
		first, err := c.Render(attempt(1))
		if err != nil {
			t.Fatal(err)
		}
		again, _ := c.Render(attempt(2))
		other := attempt(3)
		other.Key = "order-43"
		third, _ := c.Render(other)
		if first != again || first == third || !strings.Contains(first, like) {
			t.Errorf("%s: %s\n%s\n%s", form, first, again, third)
		}
	}
}

func FuzzKeysNeverMeet(f *testing.F) {
	f.Add("order-42", "order-421")
	f.Add("a", "A")
	f.Add(strings.Repeat("k", 250)+"-1", strings.Repeat("k", 250)+"-2")
	n := NewNames("0a1b2c3d", "12", nil)
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == b || len(a) > roomy && len(b) > roomy && a[len(n.tag):] == b[len(n.tag):] {
			return
		}
		if n.Key(a) == n.Key(b) && (len(a) > roomy) == (len(b) > roomy) {
			t.Errorf("%q and %q are one key: %q", a, b, n.Key(a))
		}
		if len(a) > roomy && len(n.Key(a)) != len(a) {
			t.Errorf("the length of %d characters became %d", len(a), len(n.Key(a)))
		}
	})
}

func TestRefsComeBack(t *testing.T) {
	n := NewNames("0a1b2c3d", "12", nil)
	for _, text := range []string{n.Ref("r1"), "order " + n.Ref("r1") + ", thank you", `{"ref":"` + n.Ref("r1") + `"}`} {
		if ref, ok := n.OfRef(text); !ok || ref != "r1" {
			t.Errorf("%q: %q %v", text, ref, ok)
		}
	}
	if _, ok := n.OfRef(NewNames("0a1b2c3d", "1", nil).Ref("r1")); ok {
		t.Error("another cell's ref is taken for ours")
	}
}
