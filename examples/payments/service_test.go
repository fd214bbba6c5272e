package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/impl"
)

// Every coordinator of the catalogue serves, with two workers on one Redis; those
// that are sound replay at the other worker.
func TestEveryCoordinatorServes(t *testing.T) {
	for _, e := range impl.All() {
		t.Run(e.Name, func(t *testing.T) {
			p, url := provider(t, fakeprovider.Options{})
			w1, w2 := pair(t, url, "--impl", e.Name)
			first := post(t, w1, request{key: "k1"})
			if want := (receipt{"ch_1", 100, "r1", "w1"}); first.status != http.StatusCreated || first.receipt != want || first.replayed {
				t.Fatalf("%d %s", first.status, first.body)
			}
			if got := first.header.Get("Location"); got != "/charges/ch_1" {
				t.Errorf("Location %q", got)
			}
			if slices.Contains(e.Groups, impl.Zoo) && e.Name != "cache" {
				return // what it does now may be its fault
			}
			second := post(t, w2, request{key: "k1"})
			if second.status != http.StatusCreated || second.body != first.body || !second.replayed {
				t.Errorf("again: %d %s", second.status, second.body)
			}
			if other := post(t, w2, request{key: "k1", body: `{"amount":5,"currency":"EUR"}`}); other.status != http.StatusUnprocessableEntity {
				t.Errorf("another amount: %d %s", other.status, other.body)
			}
			if n := len(p.Ledger()); n != 1 {
				t.Errorf("%d charges", n)
			}
		})
	}
}

// What the provider does, what the client is told, and what a retry gets.
func TestWhatIsKnownOfAFailure(t *testing.T) {
	cases := []struct {
		fail         fakeprovider.Fail
		impl         string
		first, retry int
		charges      int
		reason       string
	}{
		{fakeprovider.Decline, "wait", 402, 201, 1, "no effect: the key is free"},
		{fakeprovider.Decline, "fenced", 402, 201, 1, "for all coordinators"},
		{fakeprovider.ErrorBefore, "wait", 500, 201, 1, "a plain error frees the key"},
		{fakeprovider.ErrorBefore, "fenced", 500, 409, 0, "and does not where it is taken for unknown"},
		{fakeprovider.TimeoutBefore, "wait", 500, 201, 1, "the article's table 3"},
		{fakeprovider.ErrorAfter, "wait", 500, 201, 2, "the article's rule has its price"},
		{fakeprovider.LoseAnswer, "wait", 504, 409, 1, "unknown: the key stays taken"},
		{fakeprovider.LoseAnswer, "fenced", 504, 409, 1, "for all coordinators"},
		{fakeprovider.TimeoutBefore, "errors-are-cached", 500, 503, 0, "its fault"},
		{fakeprovider.LoseAnswer, "frees-the-unknown", 504, 201, 2, "its fault"},
	}
	for _, c := range cases {
		t.Run(string(c.fail)+" "+c.impl, func(t *testing.T) {
			p, url := provider(t, fakeprovider.Options{})
			p.Script(fakeprovider.Behaviour{}, fakeprovider.Behaviour{Fail: c.fail})
			base := start(t, environment("w1", url, redisURL(t)), "--impl", c.impl)
			post(t, base, request{key: "another"}) // a connection that is used again may be sent on twice
			first, retry := post(t, base, request{key: "k1"}), post(t, base, request{key: "k1"})
			if first.status != c.first || retry.status != c.retry {
				t.Errorf("%d, then %d; want %d, then %d (%s)\n%s%s", first.status, retry.status, c.first, c.retry, c.reason, first.body, retry.body)
			}
			if n := len(p.Ledger()) - 1; n != c.charges {
				t.Errorf("%d charges, want %d (%s)", n, c.charges, c.reason)
			}
		})
	}
}

// The key that is handed on is one, so that a provider which honours it charges once
// even where the coordinator does not know.
func TestTheProvidersKeyIsHandedOn(t *testing.T) {
	p, url := provider(t, fakeprovider.Options{HonoursKeys: true})
	p.Script(fakeprovider.Behaviour{Fail: fakeprovider.ErrorAfter})
	base := start(t, environment("w1", url, ""), "--impl", "frees-the-unknown", "--honours-keys")
	first := post(t, base, request{key: "k1"})
	post(t, base, request{key: "k1"})
	ledger := p.Ledger()
	if first.status != http.StatusInternalServerError || len(ledger) != 1 || ledger[0].Key == "" {
		t.Errorf("%d; ledger %+v", first.status, ledger)
	}
}

// Known black boxes: a fault of the catalogue shows over HTTP, and its sound twin
// does not have it.
func TestFaultsShowOverHTTP(t *testing.T) {
	long, longer := strings.Repeat("k", 64)+"1", strings.Repeat("k", 64)+"2"
	overlong := strings.Repeat("k", 256)
	type sent struct {
		worker int
		request
	}
	k1 := request{key: "k1"}
	cases := []struct {
		broken    string
		requests  []sent
		bad, good []int // statuses
		charges   int   // of the broken one; the sound one, wait, makes one for each success that is no replay
		reason    string
	}{
		{"no-fingerprint", []sent{{1, k1}, {1, request{key: "k1", body: `{"amount":5,"currency":"EUR"}`}}}, []int{201, 201}, []int{201, 422}, 1, "answered with the first one's result"},
		{"hashes-everything", []sent{{1, k1}, {1, request{key: "k1", body: `{"amount":100,"currency":"EUR","ref":"r1","trace":"t2"}`}}}, []int{201, 422}, []int{201, 201}, 1, "a new trace is another request"},
		{"hashes-raw-bytes", []sent{{1, k1}, {1, request{key: "k1", body: `{"currency":"EUR","amount":100,"ref":"r1"}`}}}, []int{201, 422}, []int{201, 201}, 1, "another order is another request"},
		{"unscoped", []sent{{1, request{key: "k1", operation: "a"}}, {1, request{key: "k1", operation: "b"}}}, []int{201, 201}, []int{201, 201}, 1, "the operation is no part of the name"},
		{"joins-names", []sent{{1, request{key: "b:c", operation: "a"}}, {1, request{key: "c", operation: "a:b"}}}, []int{201, 201}, []int{201, 201}, 1, "a:b:c is a:b:c"},
		{"truncates-keys", []sent{{1, request{key: long}}, {1, request{key: longer}}}, []int{201, 201}, []int{201, 201}, 1, "two keys become one"},
		{"long-keys-run-free", []sent{{1, request{key: overlong}}, {1, request{key: overlong}}}, []int{201, 201}, []int{400, 400}, 2, "as if there were none"},
		{"per-process-store", []sent{{1, k1}, {2, k1}}, []int{201, 201}, []int{201, 201}, 2, "the other worker knows nothing"},
		{"empty-replay", []sent{{1, k1}, {1, k1}}, []int{201, 200}, []int{201, 201}, 1, "and the body is empty"},
		{"replay-is-conflict", []sent{{1, k1}, {1, k1}}, []int{201, 409}, []int{201, 201}, 1, "a finished key is in progress"},
	}
	for _, c := range cases {
		t.Run(c.broken, func(t *testing.T) {
			play := func(name string, want []int) (charges, fresh int) {
				p, url := provider(t, fakeprovider.Options{})
				w1, w2 := pair(t, url, "--impl", name)
				for i, r := range c.requests {
					got := post(t, []string{w1, w2}[r.worker-1], r.request)
					if got.status != want[i] {
						t.Errorf("%s, request %d: %d %s, want %d (%s)", name, i+1, got.status, got.body, want[i], c.reason)
					}
					if got.status == http.StatusCreated && !got.replayed {
						fresh++
					}
				}
				return len(p.Ledger()), fresh
			}
			if charges, _ := play(c.broken, c.bad); charges != c.charges {
				t.Errorf("%d charges, want %d (%s)", charges, c.charges, c.reason)
			}
			if charges, fresh := play("wait", c.good); charges != fresh {
				t.Errorf("wait: %d charges and %d fresh answers", charges, fresh)
			}
		})
	}
}

// The race of the article: while the first charge is under way the second request
// comes to the other worker.
func TestTheRace(t *testing.T) {
	cases := []struct {
		impl    string
		charges int
		second  int
		agree   bool // the answers, where both are receipts
		reason  string
	}{
		{"cache", 2, 201, true, "both have looked before either had stored, and nobody can tell from the answers"},
		{"per-process-lock", 2, 201, false, "the lock is the other worker's"},
		{"wait", 1, 201, true, "it waits"},
		{"fenced", 1, 201, true, "it waits"},
		{"raise", 1, 409, false, "it is refused"},
	}
	for _, c := range cases {
		t.Run(c.impl, func(t *testing.T) {
			p, url := provider(t, fakeprovider.Options{})
			p.HoldNext(1)
			w1, w2 := pair(t, url, "--impl", c.impl)
			answers := make(chan reply, 2)
			go func() { answers <- post(t, w1, request{key: "k1"}) }()
			if err := p.AwaitHeld(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			go func() { answers <- post(t, w2, request{key: "k1"}) }()
			var got []reply
			if c.impl != "wait" && c.impl != "fenced" { // the others do not wait
				got = append(got, <-answers)
				if got[0].status != c.second {
					t.Errorf("the second: %d %s, want %d (%s)", got[0].status, got[0].body, c.second, c.reason)
				}
			}
			p.Release(0)
			for len(got) < 2 {
				got = append(got, <-answers)
			}
			if agree := got[0].receipt == got[1].receipt; agree != c.agree {
				t.Errorf("the answers are %s and %s, want equal: %v (%s)", got[0].body, got[1].body, c.agree, c.reason)
			}
			if n := len(p.Ledger()); n != c.charges {
				t.Errorf("%d charges, want %d (%s)", n, c.charges, c.reason)
			}
		})
	}
}

// With the store down the coordinator's own policy holds, or the flag's.
func TestStoreDown(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
	}{
		{[]string{"--impl", "wait"}, 201},
		{[]string{"--impl", "wait", "--store-policy", "closed"}, 503},
		{[]string{"--impl", "fenced"}, 503},
		{[]string{"--impl", "fenced", "--store-policy", "open"}, 201},
	} {
		_, url := provider(t, fakeprovider.Options{})
		base := start(t, environment("w1", url, "redis://127.0.0.1:1"), c.args...)
		if got := post(t, base, request{key: "k1"}); got.status != c.status {
			t.Errorf("%v: %d %s", c.args, got.status, got.body)
		}
	}
}

// What cannot be charged takes no key, and charges nothing.
func TestRefusals(t *testing.T) {
	p, url := provider(t, fakeprovider.Options{})
	base := start(t, environment("w1", url, ""))
	for _, c := range []struct {
		request
		status int
	}{
		{request{}, 400},
		{request{key: "k1", body: "{"}, 400},
		{request{key: "k1", body: `{"amount":0,"currency":"EUR"}`}, 400},
		{request{key: "k1", body: `{"amount":100}`}, 400},
		{request{key: "k1", body: `{"amount":100,"amount":5,"currency":"EUR"}`}, 400},
		{request{key: "k1", body: `{"amount":1e99,"currency":"EUR"}`}, 400},
	} {
		if got := post(t, base, c.request); got.status != c.status {
			t.Errorf("%+v: %d %s", c.request, got.status, got.body)
		}
	}
	if n := len(p.Ledger()); n != 0 {
		t.Errorf("%d charges", n)
	}
	if got := post(t, base, request{key: "k1"}); got.status != http.StatusCreated {
		t.Errorf("the key was taken: %d %s", got.status, got.body)
	}
}

// What the bank says that it should not say.
func TestVerdict(t *testing.T) {
	for status, want := range map[int]error{
		200: nil, 201: nil, 302: errUnknown, 400: errDeclined, 402: errDeclined, 422: errDeclined,
		408: errUnknown, 409: errUnknown, 502: errUnknown,
	} {
		if got := verdict(status); want == nil && got != nil || want != nil && !strings.HasPrefix(got.Error(), want.Error()) {
			t.Errorf("%d: %v", status, got)
		}
	}
	for _, status := range []int{425, 429, 500, 503, 504} {
		if got := verdict(status); got == nil || strings.Contains(got.Error(), errUnknown.Error()) || strings.Contains(got.Error(), errDeclined.Error()) {
			t.Errorf("%d: %v", status, got)
		}
	}
}
