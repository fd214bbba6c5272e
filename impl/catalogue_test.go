package impl_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store/memstore"
)

func TestEveryEntryIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range impl.All() {
		for _, name := range append(e.Also, e.Name) {
			if name == "" || seen[name] || slices.Contains(impl.Groups(), name) {
				t.Errorf("name %q: empty, taken, or a group's", name)
			}
			seen[name] = true
		}
		if e.Doc == "" || strings.Contains(e.Doc, "\n") {
			t.Errorf("%s: doc %q is not one line", e.Name, e.Doc)
		}
		if e.Policy != reservation.FailOpen && e.Policy != reservation.FailClosed {
			t.Errorf("%s: policy %q", e.Name, e.Policy)
		}
		for _, g := range e.Groups {
			if !slices.Contains(impl.Groups(), g) {
				t.Errorf("%s: no group %q", e.Name, g)
			}
		}
		lacked := map[check.Lack]bool{}
		for _, l := range e.Lacks {
			if lacked[l] || !strings.Contains(l.Invariant, "/") || l.Stress == "" {
				t.Errorf("%s: lack %+v is a repetition or incomplete", e.Name, l)
			}
			lacked[l] = true
		}
	}
}

// Each one runs once, from the zero configuration; and replays, unless it is in the
// zoo, for what a member does then may be its fault.
func TestEveryEntryCanBeMade(t *testing.T) {
	fingerprint, err := idempotency.FingerprintFields(map[string]any{"amount": 100})
	if err != nil {
		t.Fatal(err)
	}
	req := idempotency.Request{Operation: "order.create", Key: "k1", Fingerprint: fingerprint}
	for _, e := range impl.All() {
		mem := memstore.New(clock.Real{})
		c, err := e.New(impl.Env{Store: mem, KV: mem, Clock: clock.Real{}})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		for _, want := range []idempotency.Source{idempotency.Executed, idempotency.Replayed} {
			out, err := c.Do(t.Context(), req, func(context.Context) ([]byte, error) { return []byte("ch_1"), nil })
			if err != nil || out.Source != want || string(out.Result) != "ch_1" {
				t.Errorf("%s: %+v, %v; want %s", e.Name, out, err, want)
			}
			if slices.Contains(e.Groups, impl.Zoo) {
				break
			}
		}
		if _, err := e.New(impl.Env{Store: mem, KV: mem, Clock: clock.Real{}, Config: reservation.Config{Retention: 1}}); err == nil {
			t.Errorf("%s: a retention of 1 ns was accepted", e.Name)
		}
	}
}

func TestLookupAndGroups(t *testing.T) {
	if e, ok := impl.Lookup("raise"); !ok || e.Name != "raise" {
		t.Errorf("raise: %q, %v", e.Name, ok)
	}
	if e, ok := impl.Lookup("check-then-act"); !ok || e.Name != "cache" {
		t.Errorf("check-then-act: %q, %v; that is what cache does", e.Name, ok)
	}
	if _, ok := impl.Lookup("rise"); ok {
		t.Error("rise was found")
	}
	names := func(group string) (list []string) {
		entries, known := impl.Group(group)
		if !known {
			t.Errorf("group %q is not known", group)
		}
		for _, e := range entries {
			list = append(list, e.Name)
		}
		return list
	}
	if got := names(impl.Article); !slices.Equal(got, []string{"cache", "wait", "raise"}) {
		t.Errorf("article: %v", got)
	}
	if got := names(impl.Everyone); len(got) != len(impl.All()) {
		t.Errorf("all: %v", got)
	}
	if got := names(impl.Zoo); !slices.Contains(got, "cache") || slices.Contains(got, "wait") {
		t.Errorf("zoo: %v", got)
	}
	if entries, known := impl.Group("circus"); known || len(entries) != 0 {
		t.Errorf("circus: %v, %v", entries, known)
	}
}
