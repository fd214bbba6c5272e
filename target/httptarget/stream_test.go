package httptarget

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/target"
)

// seenRequest is what a server saw of a request.
type seenRequest struct{ method, uri, host, body, header string }

// seeing is a server that says ok and remembers.
func seeing(t *testing.T) (url string, seen func() seenRequest) {
	t.Helper()
	last := make(chan seenRequest, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var head strings.Builder
		r.Header.Del("User-Agent")
		r.Header.Del("Accept-Encoding")
		_ = r.Header.Write(&head)
		last <- seenRequest{r.Method, r.RequestURI, r.Host, string(body), head.String()}
		fmt.Fprint(w, `{"id": "ch_1"}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() seenRequest { return <-last }
}

func streamTo(t *testing.T, url string, cfg Config) *Stream {
	t.Helper()
	cfg.Base = func(string) (string, error) { return url, nil }
	tg, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := tg.Stream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); tg.Close() })
	return s
}

// What a stream sends is what a cell sends, whatever the templates do.
func TestStreamSendsWhatACellSends(t *testing.T) {
	for _, row := range []struct {
		why   string
		req   Request
		exact bool
	}{
		{"defaults", Request{Path: "/charges"}, true},
		{"a form", Request{Path: "/v1/charges", Body: `amount={{.Amount}}&currency=eur&metadata[ref]={{.Ref}}`}, true},
		{"a UUID", Request{Path: "/charges", Key: formUUID}, true},
		{"a ULID", Request{Path: "/charges", Key: formULID}, true},
		{"a key by template", Request{Path: "/charges", Key: `pay_{{.Key}}`, Body: `{"k": {{json .Key}}, "amount": {{.Amount}}, "twice": "{{.Ref}}{{.Ref}}"}`}, true},
		{"a key in the path, PUT", Request{Method: "PUT", Path: "/charges/{{.Key}}?ref={{.Ref}}"}, true},
		{"headers of its own", Request{Path: "/charges", KeyHeader: "X-Request-Id", Headers: map[string]string{"X-Op": "{{.Operation}}", "X-Ref": "{{.Ref}}", "X-Tenant": "{{.Tenant}}"}}, true},
		{"a Host", Request{Path: "/charges", Headers: map[string]string{"Host": "pay.example"}}, true},
		{"reckoning with a word", Request{Path: "/charges", Body: `{"amount": {{.Amount}}, "length": {{len .Ref}}, "ref": "{{.Ref}}"}`}, false},
		{"another form of a word", Request{Path: "/charges", Body: `{"ref": {{printf "%X" .Ref}}, "amount": {{.Amount}}}`}, false},
		{"a path to be escaped", Request{Path: "/charges/a b"}, false},
		{"variables", Request{Path: "/charges", Headers: map[string]string{"Authorization": "Bearer {{.Vars.token}}"}}, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			url, seen := seeing(t)
			s := streamTo(t, url, Config{Request: row.req, Run: "run", Vars: map[string]string{"token": "t0"}, Header: http.Header{"X-Mark": {"m"}}})
			if s.text.exact != row.exact {
				t.Errorf("exact is %v", s.text.exact)
			}
			names := NewNames("run", "1", nil)
			c := s.t.In(names, nil)
			for n, a := range []target.Attempt{{Key: "17", Ref: "34", Amount: 100, Operation: "charge", Client: "A"}, {Key: "1234567", Ref: "2469135", Amount: 5, Operation: "charge", Client: "A"}} {
				a.Number = n
				if got := c.Send(t.Context(), a); got.Answer != history.OK {
					t.Fatalf("cell: %+v", got)
				}
				want := seen()
				if got := s.Send(t.Context(), Shot{Key: names.Key(a.Key), Ref: names.Ref(a.Ref), Amount: a.Amount}); got.Answer != history.OK || got.Charge != "ch_1" {
					t.Fatalf("stream: %+v", got)
				}
				if got := seen(); got != want {
					t.Errorf("sent\n%+v\na cell sends\n%+v", got, want)
				}
			}
		})
	}
}

// A line's end in a header would make two of it.
func TestStreamRefusesTwoHeadersInOne(t *testing.T) {
	tg, err := New(Config{Request: Request{Path: "/", Headers: map[string]string{"X-A": "{{.Vars.v}}"}}, Vars: map[string]string{"v": "a\r\nX-B: b"},
		Base: func(string) (string, error) { return "http://127.0.0.1:1", nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tg.Stream(); err == nil {
		t.Error("it was not refused")
	}
}

// How answers and their absence are read.
func TestStreamReadsAnswers(t *testing.T) {
	gone := make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id":`)
		w.(http.Flusher).Flush()
		fmt.Fprint(w, ` "ch_7"}`)
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		fmt.Fprint(w, `{"id": "ch_7"}`)
	})
	mux.HandleFunc("/closes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, `{"id": "ch_7"}`)
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Charge", "ch_7") })
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusConflict) })
	mux.HandleFunc("/unknown", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"code": "outcome_unknown"}`, http.StatusBadGateway)
	})
	mux.HandleFunc("/breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then nobody looks whether the client is there
		<-r.Context().Done()
		gone <- struct{}{}
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for _, row := range []struct {
		path, answer, charge, place string
	}{
		{"/chunked", history.OK, "ch_7", ""}, {"/early", history.OK, "ch_7", ""}, {"/closes", history.OK, "ch_7", ""},
		{"/header", history.OK, "ch_7", "header:X-Charge"}, {"/busy", history.InProgress, "", ""}, {"/unknown", history.UnknownOutcome, "", ""},
		{"/breaks", history.UnknownOutcome, "", ""}, {"/endless", history.UnknownOutcome, "", ""}, {"/hangs", history.UnknownOutcome, "", ""},
	} {
		s := streamTo(t, srv.URL, Config{Request: Request{Path: row.path, Timeout: 2 * time.Second}, Answer: Answer{Charge: row.place},
			Profile: Profile{Unknown: []string{"code=outcome_unknown"}}})
		for range 2 { // on a connection that was used, too
			if row.path == "/hangs" {
				s.t.cfg.Request.Timeout = 50 * time.Millisecond
			}
			if got := s.Send(t.Context(), Shot{Key: "k", Ref: "r", Amount: 1}); got.Answer != row.answer || got.Charge != row.charge {
				t.Errorf("%s: %+v", row.path, got)
			}
			if row.path == "/hangs" {
				<-gone
			}
		}
	}
	s := streamTo(t, srv.URL, Config{Request: Request{Path: "/hangs"}})
	ctx, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer leave()
	if got := s.Send(ctx, Shot{Key: "k", Ref: "r", Amount: 1}); got.Answer != history.HungUp {
		t.Errorf("a client that leaves: %+v", got)
	}
	<-gone // the server has seen it go
	nobody := streamTo(t, "http://127.0.0.1:1", Config{Request: Request{Path: "/"}})
	if got := nobody.Send(t.Context(), Shot{Key: "k"}); got.Answer != history.Error || !strings.Contains(got.Detail, "nobody listens") {
		t.Errorf("nobody listens: %+v", got)
	}
}

// Connections are used again, also by many at once; those that the other end has
// closed are not.
func TestStreamKeepsConnections(t *testing.T) {
	var mu sync.Mutex
	opened := map[net.Conn]bool{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id": "ch_1"}`) }))
	srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if s == http.StateNew {
			opened[c] = true
		}
	}
	srv.Start()
	defer srv.Close()
	s := streamTo(t, srv.URL, Config{Request: Request{Path: "/"}})
	const callers, each = 8, 50
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				if got := s.Send(t.Context(), Shot{Key: "k", Ref: "r", Amount: 1}); got.Answer != history.OK {
					t.Errorf("%+v", got)
				}
			}
		})
	}
	all.Wait()
	mu.Lock()
	n := len(opened)
	mu.Unlock()
	if n > callers {
		t.Errorf("%d connections for %d callers", n, callers)
	}
	srv.CloseClientConnections() // waits until they are closed
	for range 2 * callers {
		time.Sleep(2 * restless) // not to be in time, but for a connection to count as one that rests
		if got := s.Send(t.Context(), Shot{Key: "k", Ref: "r", Amount: 1}); got.Answer != history.OK {
			t.Errorf("after the server has closed its connections: %+v", got)
		}
	}
}

// TLS and HTTP/2 go by the transport, with the same answers.
func TestStreamByTransport(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"id": "%s"}`, r.Proto) })
	plain := httptest.NewUnstartedServer(handler)
	plain.Config.Protocols = new(http.Protocols)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	defer plain.Close()
	two := streamTo(t, plain.URL, Config{Request: Request{Path: "/", HTTP2: true}})
	if got := two.Send(t.Context(), Shot{Key: "k", Ref: "r", Amount: 1}); got.Charge != "HTTP/2.0" {
		t.Errorf("%+v", got)
	}
	secure := httptest.NewTLSServer(handler)
	defer secure.Close()
	s := streamTo(t, secure.URL, Config{Request: Request{Path: "/"}})
	s.t.transport.TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	if got := s.Send(t.Context(), Shot{Key: "k", Ref: "r", Amount: 1}); got.Charge != "HTTP/1.1" {
		t.Errorf("%+v", got)
	}
}
