package idempotencyhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotency/idempotencyhttp"
	"github.com/idemrace/idemrace/impl/reservation"
)

// The first answer is the handler's own; the second is what was kept of it.
func TestReplay(t *testing.T) {
	b := &bank{then: func(w http.ResponseWriter, _ *http.Request, n int) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Location", "/charges/ch_1")
		h.Set("X-Charge", "ch_1")
		h.Add("Link", "</a>")
		h.Add("Link", "</b>")
		h.Set("Set-Cookie", "session=1")
		h.Set("X-Request-Id", "1")
		h.Set("Idempotent-Replayed", "true") // from a provider, say: here it is not true
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":"ch_%d"}`, n)
	}}
	m := on(waiting(t, reservation.Config{}))
	m.Headers = []string{"x-charge", "Link"}
	h := m.Wrap(b)
	golden(t, "first.txt", dump(t, answer(h, charge("k1", order))))
	golden(t, "replay.txt", dump(t, answer(h, charge(`"k1"`, `{"trace":"t2","amount":100}`))))
	if b.made() != 1 {
		t.Errorf("%d charges", b.made())
	}
	if got := answer(h, charge("k1", `{"amount":5}`)); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("another amount: %d", got.StatusCode)
	}
}

// What middleware before has set for this answer stays, and goes out with a replay
// too; what the handler has deleted is gone from its own answer.
func TestHeaderOfTheMiddlewareBefore(t *testing.T) {
	n := 0
	inner := on(waiting(t, reservation.Config{})).Wrap(&bank{then: func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Del("X-Outer")
	}})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("X-Request-Id", fmt.Sprint(n))
		w.Header().Set("X-Outer", "here")
		inner.ServeHTTP(w, r)
	})
	first, second := answer(h, charge("k1", order)), answer(h, charge("k1", order))
	if first.Header.Get("X-Request-Id") != "1" || second.Header.Get("X-Request-Id") != "2" {
		t.Errorf("request ids %v and %v", first.Header, second.Header)
	}
	if first.Header.Get("X-Outer") != "" || second.Header.Get("X-Outer") != "here" {
		t.Errorf("X-Outer in %v and %v", first.Header, second.Header)
	}
}

// The default table, on a coordinator that frees the key on errors (released) and
// one that does not (unknown).
func TestClassify(t *testing.T) {
	cases := []struct {
		status       int
		kept         bool
		free, strict int // what a retry gets
		reason       string
	}{
		{200, true, 200, 200, "success"},
		{204, true, 204, 204, "without a body"},
		{303, true, 303, 303, "see other"},
		{400, true, 400, 400, "a verdict on this very payload"},
		{402, true, 402, 402, "a decline is an answer"},
		{404, true, 404, 404, "so is this"},
		{422, true, 422, 422, "and this"},
		{401, false, 201, 201, "refused before anything was done"},
		{403, false, 201, 201, "refused before anything was done"},
		{425, false, 201, 201, "refused before anything was done"},
		{429, false, 201, 201, "refused before anything was done"},
		{408, false, 201, 409, "says nothing of what was done"},
		{409, false, 201, 409, "says nothing of what was done"},
		{500, false, 201, 409, "says nothing of what was done"},
		{503, false, 201, 409, "says nothing of what was done"},
		{599, false, 201, 409, "says nothing of what was done"},
		{502, false, 409, 409, "somebody behind may have done it"},
		{504, false, 409, 409, "somebody behind may have done it"},
	}
	for _, c := range cases {
		if got := idempotencyhttp.Classify(c.status); (got == nil) != c.kept {
			t.Errorf("%d (%s): %v", c.status, c.reason, got)
		}
		for policy, want := range map[reservation.OnError]int{reservation.Release: c.free, reservation.MarkUnknown: c.strict} {
			h := on(waiting(t, reservation.Config{OnError: policy})).Wrap(&bank{then: func(w http.ResponseWriter, _ *http.Request, n int) {
				if n > 1 {
					w.WriteHeader(http.StatusCreated)
					return
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, "the handler's own words")
			}})
			first := answer(h, charge("k1", order))
			if first.StatusCode != c.status || c.status != 204 && text(t, first) != "the handler's own words" {
				t.Errorf("%d (%s): the client was told %d", c.status, c.reason, first.StatusCode)
			}
			if got := answer(h, charge("k1", order)); got.StatusCode != want {
				t.Errorf("%d, errors are %s (%s): a retry gets %d, want %d", c.status, policy, c.reason, got.StatusCode, want)
			}
		}
	}
}

// A handler's word goes before its status, and "unknown" before all.
func TestTheHandlersWord(t *testing.T) {
	type words []func(*http.Request)
	cases := []struct {
		words  words
		status int
		want   error // the action's; nil: kept
		reason string
	}{
		{words{idempotencyhttp.Keep}, 500, nil, "an answer for good"},
		{words{idempotencyhttp.NoEffect}, 402, idempotency.ErrNoEffect, "a decline that may be tried again"},
		{words{idempotencyhttp.NoEffect}, 200, idempotency.ErrNoEffect, "whatever the status"},
		{words{idempotencyhttp.Unknown}, 500, idempotency.ErrUnknownOutcome, "the connection broke"},
		{words{idempotencyhttp.Unknown, idempotencyhttp.NoEffect, idempotencyhttp.Keep}, 200, idempotency.ErrUnknownOutcome, "cannot be taken back"},
		{words{idempotencyhttp.Keep, idempotencyhttp.NoEffect}, 200, idempotency.ErrNoEffect, "the cautious one"},
	}
	for _, c := range cases {
		var got error
		m := on(coordinator(func(ctx context.Context, req idempotency.Request, act idempotency.Action) (out idempotency.Outcome, err error) {
			out, err = runs(ctx, req, act)
			got = err
			return out, err
		}))
		h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, say := range c.words {
				say(r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, nil))) // as from a handler further in
			}
			w.WriteHeader(c.status)
		}))
		if status := answer(h, charge("k1", order)).StatusCode; status != c.status || !errors.Is(got, c.want) {
			t.Errorf("%d (%s): %v, the client was told %d", c.status, c.reason, got, status)
		}
	}
}

func TestClassifyOfOnesOwn(t *testing.T) {
	m := on(waiting(t, reservation.Config{}))
	m.Classify = func(status int) error {
		if status == http.StatusTeapot {
			return idempotency.ErrNoEffect
		}
		return nil
	}
	b := &bank{then: func(w http.ResponseWriter, _ *http.Request, n int) { w.WriteHeader([]int{418, 500, 200}[n-1]) }}
	h := m.Wrap(b)
	for i, want := range []int{418, 500, 500} {
		if got := answer(h, charge("k1", order)); got.StatusCode != want {
			t.Errorf("request %d: %d, want %d", i+1, got.StatusCode, want)
		}
	}
}

// An answer over the limit: its own client gets all of it, later ones all but the
// body, and are told so.
func TestALargeAnswer(t *testing.T) {
	b := &bank{then: func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Location", "/charges/ch_1")
		w.WriteHeader(http.StatusCreated)
		for range 100 {
			if _, err := io.WriteString(w, strings.Repeat(".", 1000)); err != nil {
				t.Errorf("the handler was told %v", err)
			}
		}
	}}
	h := on(waiting(t, reservation.Config{})).Wrap(b)
	first, second := answer(h, charge("k1", order)), answer(h, charge("k1", order))
	if body := text(t, first); len(body) != 100_000 || first.Header.Get(idempotencyhttp.OmittedHeader) != "" {
		t.Errorf("the first client got %d bytes, %v", len(body), first.Header)
	}
	golden(t, "replay-without-body.txt", dump(t, second))
	if b.made() != 1 {
		t.Errorf("%d charges", b.made())
	}
}

// The limit is on what is kept, to the byte.
func TestTheLimit(t *testing.T) {
	room := 1000 - len(`idempotencyhttp/1 {"status":200,"header":{"Content-Type":["x"]}}`+"\n")
	for _, c := range []struct {
		body    int
		omitted bool
	}{{0, false}, {room, false}, {room + 1, true}} {
		m := on(waiting(t, reservation.Config{}))
		m.MaxResult = 1000
		h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "x")
			_, _ = io.WriteString(w, strings.Repeat(".", c.body))
		}))
		answer(h, charge("k1", order))
		got := answer(h, charge("k1", order))
		if omitted := got.Header.Get(idempotencyhttp.OmittedHeader) == "true"; omitted != c.omitted || (text(t, got) == "") != (c.omitted || c.body == 0) {
			t.Errorf("%d bytes: omitted %v", c.body, omitted)
		}
	}
}

func TestTheDefaultLimitIsTheCoordinators(t *testing.T) {
	if idempotencyhttp.DefaultMaxResult != reservation.DefaultMaxResult {
		t.Errorf("%d here, %d there", idempotencyhttp.DefaultMaxResult, reservation.DefaultMaxResult)
	}
}

// An owner that was overtaken must not tell of its own effect: answers agree.
func TestWhoWasOvertakenTellsWhatStands(t *testing.T) {
	stands := ""
	_ = answer(on(coordinator(func(ctx context.Context, _ idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
		result, err := act(ctx)
		stands = string(result)
		return idempotency.Outcome{Result: result}, err
	})).Wrap(&bank{}), charge("k1", order))
	overtaken := func(out idempotency.Outcome, err error) coordinator {
		return func(ctx context.Context, _ idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
			if _, failed := act(ctx); failed != nil {
				t.Errorf("the action failed: %v", failed)
			}
			return out, err
		}
	}
	second := &bank{charges: 1} // would be ch_2
	got := answer(on(overtaken(idempotency.Outcome{Result: []byte(stands), Source: idempotency.Superseded}, nil)).Wrap(second), charge("k1", order))
	if body := text(t, got); body != `{"id":"ch_1"}` || got.Header.Get(idempotencyhttp.ReplayedHeader) != "true" {
		t.Errorf("told %s, %v", body, got.Header)
	}
	got = answer(on(overtaken(idempotency.Outcome{}, &idempotency.InProgressError{})).Wrap(second), charge("k1", order))
	if body := text(t, got); got.StatusCode != http.StatusConflict || strings.Contains(body, "ch_") {
		t.Errorf("nothing stands yet: told %d %s", got.StatusCode, body)
	}
}

// A coordinator may be used by others too: what they have kept is a success, and
// has no status.
func TestAResultThatIsNotOurs(t *testing.T) {
	for result, kind := range map[string]string{`{"id":"ch_1"}`: "application/json", "ch_1": "", "": ""} {
		got := answer(on(gives(result)).Wrap(&bank{}), charge("k1", order))
		body := text(t, got)
		if got.StatusCode != http.StatusOK || body != result || kind != "" && got.Header.Get("Content-Type") != kind {
			t.Errorf("%q: %d %q %v", result, got.StatusCode, body, got.Header)
		}
		if got.Header.Get(idempotencyhttp.ReplayedHeader) != "true" {
			t.Errorf("%q is not marked", result)
		}
	}
}

func TestAuthorityIsCheckedBeforeAReplay(t *testing.T) {
	asked := 0
	m := on(waiting(t, reservation.Config{}))
	m.Authorize = func(*http.Request) error {
		asked++
		return errSecret
	}
	h := m.Wrap(&bank{})
	if got := answer(h, charge("k1", order)); got.StatusCode != http.StatusCreated || asked != 0 {
		t.Errorf("the first: %d, asked %d times", got.StatusCode, asked)
	}
	got := answer(h, charge("k1", order))
	if body := text(t, got); got.StatusCode != http.StatusForbidden || asked != 1 || strings.Contains(body, "ch_1") {
		t.Errorf("the second: %d, asked %d times", got.StatusCode, asked)
	}
}

// Whatever a handler answers, a replay has the same status and body, and the header
// fields to be kept.
func TestReplayIsEqual(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		status := rapid.IntRange(200, 399).Draw(r, "status")
		body := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "body")
		kinds := rapid.SliceOfN(rapid.StringMatching(`[ -~]{0,20}`), 0, 3).Draw(r, "X-Kind")
		m := on(waiting(t, reservation.Config{}))
		m.Headers = []string{"X-Kind"}
		h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X-Kind"] = kinds
			w.WriteHeader(status)
			_, _ = w.Write(body)
		}))
		one, two := httptest.NewRecorder(), httptest.NewRecorder()
		h.ServeHTTP(one, charge("k1", order))
		h.ServeHTTP(two, charge("k1", order))
		if two.Header().Get(idempotencyhttp.ReplayedHeader) != "true" {
			r.Fatal("no replay")
		}
		two.Header().Del(idempotencyhttp.ReplayedHeader)
		if one.Code != two.Code || one.Body.String() != two.Body.String() || fmt.Sprint(one.Header()) != fmt.Sprint(two.Header()) {
			r.Fatalf("%d %v %q, then %d %v %q", one.Code, one.Header(), one.Body, two.Code, two.Header(), two.Body)
		}
	})
}

func FuzzKeptAnswer(f *testing.F) {
	f.Add("idempotencyhttp/1 {\"status\":201,\"header\":{\"Location\":[\"/\"]}}\nbody")
	f.Add("idempotencyhttp/1 {\"status\":101}\n")
	f.Add("idempotencyhttp/1 ")
	f.Fuzz(func(t *testing.T, result string) {
		got := answer(on(gives(result)).Wrap(&bank{}), charge("k1", order))
		if got.StatusCode < 200 || got.StatusCode > 999 {
			t.Errorf("%q: status %d", result, got.StatusCode)
		}
	})
}
