package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/impl"
)

// explained runs explain and returns what it says.
func explainedText(t *testing.T, args ...string) string {
	t.Helper()
	var out, complaints bytes.Buffer
	code := Run(context.Background(), Config{Args: append([]string{"explain"}, args...), Stdout: &out, Stderr: &complaints})
	if code != ExitOK {
		t.Errorf("explain %s: exit %d: %s", strings.Join(args, " "), code, complaints.String())
	}
	return out.String()
}

// TestExplainKnowsEveryName: no name of the catalogues is left untold.
func TestExplainKnowsEveryName(t *testing.T) {
	for _, name := range newApp(Config{}).explainable() {
		if got := explainedText(t, name, "--no-run"); len(strings.Fields(got)) < 20 || strings.Contains(got, "%!") {
			t.Errorf("explain %s teaches nothing: %s", name, got)
		}
	}
}

// TestExplainTellsOfTheZoo: what is wrong, where it has been seen, what is right.
func TestExplainTellsOfTheZoo(t *testing.T) {
	got := explainedText(t, "claim-for-retention", "--no-run")
	for _, part := range []string{"It lets a claim live as long as a result.", "Seen in express-idempotency, issue 32", "Right: a claim lives for a lease"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not said:\n%s", part, got)
		}
	}
}

// TestExplainShowsAViolation: by a real run, drawn as a timeline, with its because.
func TestExplainShowsAViolation(t *testing.T) {
	for _, name := range []string{"claim-overwrites", "no-fingerprint", "errors-are-cached", "effect/no-overlap", "scope/isolated"} {
		got := explainedText(t, name, "--store", "embedded")
		for _, part := range []string{"Seen in ", "WHAT THE CARD SEES", "because: "} {
			if !strings.Contains(got, part) {
				t.Errorf("explain %s: no %q:\n%s", name, part, got)
			}
		}
	}
}

// TestEveryFaultCanBeShown: each member of the zoo has a scenario for its own fault,
// and each invariant that anybody lacks has one, too.
func TestEveryFaultCanBeShown(t *testing.T) {
	a := newApp(Config{})
	for _, e := range impl.All() {
		if e.Name != "fenced" && len(a.breaking(e)) == 0 {
			t.Errorf("nothing shows what %s lacks", e.Name)
		}
	}
	for _, inv := range check.All() {
		if shown := len(a.violating(inv.ID)) > 0; shown != lackedByAnybody(inv.ID) {
			t.Errorf("%s: shown %v", inv.ID, shown)
		}
	}
}

func lackedByAnybody(id string) bool {
	for _, e := range impl.All() {
		if len(lacking(e, id)) > 0 {
			return true
		}
	}
	return false
}
