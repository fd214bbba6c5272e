package idempotencytest_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotencytest"
	"github.com/idemrace/idemrace/impl"
)

// child is set in the process that this test starts of itself, in which each
// coordinator is examined as an outsider would: here failures are wanted, so they
// must not be this process's own.
const child = "IDEMPOTENCYTEST_CHILD"

// outside makes a catalogue entry as an outsider would, with nothing but Env.
func outside(e impl.Entry) func(testing.TB, idempotencytest.Env) idempotency.Coordinator {
	return func(t testing.TB, env idempotencytest.Env) idempotency.Coordinator {
		c, err := e.New(impl.Env{Store: env.Store, KV: env.KV, Clock: env.Clock, Config: env.Config, HonoursKeys: env.HonoursKeys})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// TestOutside runs in the child only: every coordinator of the catalogue. The zoo
// confesses what any reservation on such a store does, and not its own fault; the
// others declare what they lack.
func TestOutside(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("started by TestTheZooIsCaughtFromOutside")
	}
	for _, e := range impl.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			opts := idempotencytest.Options{Store: "embedded", Parallel: 4, Prepare: e.Prepare, Lacks: e.Lacks}
			if inZoo(e) {
				opts.Lacks = common()
			}
			idempotencytest.TestCoordinator(t, outside(e), opts)
		})
	}
}

func inZoo(e impl.Entry) bool { return slices.Contains(e.Groups, impl.Zoo) }

// common is what any reservation lacks, as the catalogue says of wait, and what one
// on plain commands lacks besides: a claim that has ended takes its fingerprint with
// it. Whoever is caught beside this is caught for a fault of its own.
func common() []check.Lack {
	wait, _ := impl.Lookup("wait")
	lacks := slices.Clone(wait.Lacks)
	for _, id := range []string{"reuse/refused", "answer/one-fresh", "provider/key-distinct"} {
		lacks = append(lacks, check.Lack{Invariant: id, Stress: check.LeaseOverrun})
	}
	return lacks
}

// TestTheZooIsCaughtFromOutside: whatever is broken fails in at least one invariant,
// and whatever is not passes.
func TestTheZooIsCaughtFromOutside(t *testing.T) {
	if os.Getenv(child) != "" {
		t.Skip("this is the child")
	}
	out, broken := examined(t)
	caught := 0
	for _, e := range impl.All() {
		switch invariants := broken[e.Name]; {
		case inZoo(e) && len(invariants) == 0:
			t.Errorf("%s passed: nothing caught it", e.Name)
		case inZoo(e):
			caught++
			t.Logf("%s: %s", e.Name, strings.Join(invariants, ", "))
		case len(invariants) > 0 || !bytes.Contains(out, []byte("--- PASS: TestOutside/"+e.Name+" ")):
			t.Errorf("%s did not pass: %s\n%s", e.Name, strings.Join(invariants, ", "), about(out, e.Name))
		}
	}
	t.Logf("%d broken coordinators caught", caught)
}

// examined runs the child, and returns its output and which invariants failed in it,
// by coordinator.
func examined(t *testing.T) (out []byte, caught map[string][]string) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOutside$", "-test.v", "-test.timeout=5m", "-test.parallel=6")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the child passed: nothing in the zoo was caught\n%s", out)
	}
	return out, violated(out)
}

// violated reads a child's output: a timeline is drawn of nothing but a violation,
// under the name of its subtest. That a declared lack did not show fails a subtest
// too, but catches nobody.
func violated(out []byte) map[string][]string {
	caught := map[string][]string{}
	var name, invariant string
	for line := range strings.Lines(string(out)) {
		if _, test, ok := strings.Cut(line, " TestOutside/"); ok && strings.HasPrefix(line, "=== ") {
			name, invariant, _ = strings.Cut(strings.TrimSpace(test), "/")
		}
		drawn := strings.Contains(line, "WHAT YOUR TEST SEES") && strings.Contains(invariant, "/")
		if drawn && !slices.Contains(caught[name], invariant) {
			caught[name] = append(caught[name], invariant)
		}
	}
	return caught
}

// about is what the child said of one coordinator.
func about(out []byte, name string) string {
	var said strings.Builder
	mine := false
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "TestOutside/") {
			mine = strings.Contains(line, "TestOutside/"+name+"/") || strings.Contains(line, "TestOutside/"+name+" ")
		}
		if mine {
			said.WriteString(line)
		}
	}
	return said.String()
}
