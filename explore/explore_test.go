package explore

import (
	"slices"
	"testing"

	"github.com/idemrace/idemrace/impl"
)

func entry(t testing.TB, name string) impl.Entry {
	t.Helper()
	e, ok := impl.Lookup(name)
	if !ok {
		t.Fatalf("no coordinator %q", name)
	}
	return e
}

func TestArticleInTwoClients(t *testing.T) {
	r, err := Explore(t.Context(), Config{Entry: entry(t, "cache"), Preemptions: 1})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Found, func(v Violation) bool { return v.Invariant == "effect/silent-duplicate" })
	if !r.Complete || i < 0 {
		t.Fatalf("the article's double charge was not found: %+v", r)
	}
	t.Log(r.Found[i].Schedule)
}

// What wait, raise and fenced guarantee holds in every order of two clients.
func TestGuaranteesHold(t *testing.T) {
	for _, name := range []string{"wait", "raise", "fenced"} {
		for _, budget := range []Config{{}, {Faults: 1}, {Crashes: 1}} {
			budget.Entry, budget.Preemptions = entry(t, name), Unbounded
			r, err := Explore(t.Context(), budget)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Complete {
				t.Errorf("%s: not complete: %s", name, r.Why)
			}
			t.Logf("%s, %d faults, %d crashes: %d runs, %d states, found %d", name, budget.Faults, budget.Crashes, r.Runs, r.States, len(r.Found))
		}
	}
}
