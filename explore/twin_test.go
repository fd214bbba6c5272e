package explore

import (
	"context"
	"slices"
	"testing"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/raise"
	"github.com/idemrace/idemrace/store"
)

// partial takes a foreign claim for its own, where its worker or its token says so.
type partial struct {
	store.Store
	takes func(mine, theirs string) bool
}

func (p partial) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	got, err := p.Store.Claim(ctx, c)
	if err == nil && !got.Mine && got.Record.State == store.Pending && p.takes(c.Token, got.Record.Token) {
		got.Mine = true
	}
	return got, err
}

// twoKinds is raise with that fault; made counts the workers of a run, from 0.
func twoKinds(clients int, takes func(made int, mine, theirs string) bool) impl.Entry {
	made := -1
	return impl.Entry{Name: "two-kinds", New: func(env impl.Env) (idempotency.Coordinator, error) {
		made = (made + 1) % clients
		n := made
		own := partial{env.Store, func(mine, theirs string) bool { return takes(n, mine, theirs) }}
		c, err := raise.New(own, env.Clock, env.Config)
		return struct{ idempotency.Coordinator }{c}, err // made anew for each run
	}}
}

// A fault that only one of two alike clients has is found with symmetry, whichever has
// it; and a coordinator that has it for all keeps its symmetry.
func TestSymmetryHidesNoFaultOfOneClient(t *testing.T) {
	for _, row := range []struct {
		why    string
		takes  func(made int, mine, theirs string) bool
		unlike bool
	}{
		{"the first worker", func(made int, _, _ string) bool { return made == 0 }, true},
		{"the second worker", func(made int, _, _ string) bool { return made == 1 }, true},
		{"the smaller token", func(_ int, mine, theirs string) bool { return mine < theirs }, true},
		{"the greater token", func(_ int, mine, theirs string) bool { return mine > theirs }, true},
		{"everybody", func(int, string, string) bool { return true }, false},
	} {
		for _, clients := range []int{2, 3} {
			find := func(plain bool) Result {
				r, err := Explore(t.Context(), Config{Entry: twoKinds(clients, row.takes), Clients: clients, Preemptions: 1, NoSymmetry: plain, Cores: 1})
				if err != nil || !r.Complete {
					t.Fatal(row.why, err, r.Why)
				}
				return r
			}
			got, want := find(false), find(true)
			if len(want.Found) == 0 || !slices.Equal(violated(got), violated(want)) {
				t.Errorf("%s, %d clients: found %q, without symmetry %q", row.why, clients, violated(got), violated(want))
			}
			if got.Unlike != row.unlike {
				t.Errorf("%s, %d clients: unlike is %v", row.why, clients, got.Unlike)
			}
		}
	}
}

// No coordinator of the catalogue tells clients apart: each keeps its symmetry.
func TestTheCatalogueIsSymmetric(t *testing.T) {
	for _, e := range impl.All() {
		if e.Unseen {
			continue
		}
		for _, c := range []Config{{}, {Clients: 3}, {Faults: 1}, {Crashes: 1}, {Expiries: 1}, {HangUps: 1}, {Payloads: true, Clients: 3}} {
			c.Entry, c.Preemptions = e, 1
			r, err := Explore(t.Context(), c)
			if err != nil || r.Unlike {
				t.Errorf("%v: unlike %v, %v", c, r.Unlike, err)
			}
		}
	}
}
