package idempotencyhttp_test

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotency/idempotencyhttp"
	"github.com/idemrace/idemrace/impl/reservation"
)

// Until the coordinator has kept the answer nothing of it is out, whatever the
// handler does to hurry it.
func TestNothingIsOutBeforeItIsKept(t *testing.T) {
	outer := httptest.NewRecorder()
	m := on(coordinator(func(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
		out, err := runs(ctx, req, act)
		if outer.Flushed || outer.Body.Len() > 0 || len(outer.Header()) > 0 {
			t.Errorf("out before it was kept: %q, %v", outer.Body, outer.Header())
		}
		return out, err
	}))
	h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot) // superfluous
		w.Header().Set("X-Late", "yes")  // too late
		_, _ = w.Write([]byte("a"))
		if err := control.Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
		w.(http.Flusher).Flush()
		if n, err := io.Copy(w, strings.NewReader("bc")); n != 2 || err != nil {
			t.Errorf("copy: %d, %v", n, err)
		}
		if _, _, err := control.Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("hijack: %v", err)
		}
		if _, ok := w.(http.Hijacker); ok {
			t.Error("the connection can be taken over")
		}
	}))
	h.ServeHTTP(outer, charge("k1", order))
	if outer.Code != http.StatusAccepted || outer.Body.String() != "abc" || outer.Header().Get("X-Late") != "" {
		t.Errorf("%d %q %v", outer.Code, outer.Body, outer.Header())
	}
}

func TestOddStatuses(t *testing.T) {
	h := func(status int) http.Handler {
		return on(coordinator(runs)).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, err := w.Write([]byte("x"))
			if none := status == http.StatusNoContent || status == http.StatusNotModified; none != errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("%d: the handler was told %v", status, err)
			}
		}))
	}
	for status, want := range map[int]int{200: 200, 204: 204, 304: 304, 999: 999, http.StatusSwitchingProtocols: http.StatusNotImplemented} {
		if got := answer(h(status), charge("k1", order)); got.StatusCode != want {
			t.Errorf("%d became %d", status, got.StatusCode)
		}
	}
	if got := panicOf(func() { answer(h(7), charge("k1", order)) }); !strings.Contains(got, "invalid status 7") {
		t.Errorf("status 7: %q", got)
	}
	nothing := on(waiting(t, reservation.Config{})).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if got := answer(nothing, charge("k1", order)); got.StatusCode != http.StatusOK {
		t.Errorf("a handler that writes nothing: %d", got.StatusCode)
	}
}

// Trailers are part of the answer to who asked first, and are not kept.
func TestTrailers(t *testing.T) {
	s := server(t, on(waiting(t, reservation.Config{})).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum, X-Never")
		_, _ = w.Write([]byte("body"))
		w.Header().Set("X-Sum", "4")
		w.Header().Set(http.TrailerPrefix+"X-More", "5")
	})))
	for i, want := range []string{"4", ""} {
		got, err := send(t.Context(), t, s.URL, "k1", order)
		if err != nil {
			t.Fatal(err)
		}
		text(t, got)
		if sum := got.Trailer.Get("X-Sum"); sum != want {
			t.Errorf("request %d: trailer %q, want %q", i+1, sum, want)
		}
		if more := got.Trailer.Get("X-More"); (more == "5") != (want != "") {
			t.Errorf("request %d: trailer %q", i+1, more)
		}
	}
}

// The type that the server would have guessed is kept, and one that the handler has
// kept it from guessing is not guessed.
func TestContentType(t *testing.T) {
	for _, c := range []struct {
		set    []string
		isSet  bool
		want   string
		reason string
	}{
		{nil, false, "text/html; charset=utf-8", "guessed"},
		{[]string{"text/plain"}, true, "text/plain", "said"},
		{nil, true, "", "said to be unknown"},
	} {
		h := on(waiting(t, reservation.Config{})).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.isSet {
				w.Header()["Content-Type"] = c.set
			}
			_, _ = w.Write([]byte("<html></html>"))
		}))
		s := server(t, h)
		for i := range 2 {
			got, err := send(t.Context(), t, s.URL, "k1", order)
			if err != nil {
				t.Fatal(err)
			}
			text(t, got)
			if kind := got.Header.Get("Content-Type"); kind != c.want {
				t.Errorf("%s, request %d: %q, want %q", c.reason, i+1, kind, c.want)
			}
		}
	}
}

// Files of a form that the handler has parsed do not stay behind.
func TestFilesOfAForm(t *testing.T) {
	var body strings.Builder
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("receipt", "receipt.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.Write([]byte("paid"))
	form.Close()
	name := ""
	m := idempotencyhttp.Middleware{Coordinator: coordinator(runs), Scope: ownTenant, Fingerprint: wholeBody}
	h := m.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(0); err != nil { // all of it to a file
			t.Fatal(err)
		}
		f, err := r.MultipartForm.File["receipt"][0].Open()
		if err != nil {
			t.Fatal(err)
		}
		name = f.(*os.File).Name()
		f.Close()
	}))
	r := charge("k1", body.String())
	r.Header.Set("Content-Type", form.FormDataContentType())
	answer(h, r)
	if _, err := os.Stat(name); name == "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%q is left: %v", name, err)
	}
}
