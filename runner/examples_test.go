package runner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/idemrace/idemrace/config"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/store/backend"
)

func example(t *testing.T, path string) config.Service {
	t.Helper()
	cfg, err := config.Load(path, func(name string) (string, bool) { return os.LookupEnv(name) })
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Targets[0]
}

// raceExample runs an example's configuration, and returns its cells by scenario.
func raceExample(t *testing.T, path string, names ...string) map[string]results.Cell {
	t.Helper()
	b := open(t, backend.RedisServer)
	cells := map[string]results.Cell{}
	for _, c := range raceServiceIn(t, filepath.Dir(path), b, example(t, path), names...).Cells {
		if c.Status == results.CouldNotRun {
			t.Errorf("%s could not run: %s", c.Scenario, c.Why)
		}
		cells[c.Scenario] = c
	}
	return cells
}

func violatedIn(c results.Cell, invariant string) bool {
	for _, f := range c.Findings {
		if f.Invariant == invariant {
			return f.Verdict == "violated"
		}
	}
	return false
}

// A service in another language, with nothing of ours in it.
func TestNodeNaiveAndCorrect(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("needs node: a service in another language")
	}
	naive := raceExample(t, "../examples/node/naive.yaml", "in-flight", "sequential-retry")
	if c := naive["in-flight"]; !violatedIn(c, "effect/silent-duplicate") || c.Attempts[0].Charge != c.Attempts[1].Charge || len(c.Charges) != 2 {
		t.Errorf("naive in flight: want equal answers and two charges: %+v", c)
	}
	if c := naive["sequential-retry"]; c.Verdict != "held" {
		t.Errorf("naive sees a retry that comes later: %+v", c)
	}
	for name, c := range raceExample(t, "../examples/node/correct.yaml", quick()...) {
		if c.Status == results.Judged && !c.AsExpected {
			t.Errorf("correct in %s: %+v", name, c.Findings)
		}
	}
}

// A library that nobody of us wrote.
func TestGofiberWithOneWorkerAndTwo(t *testing.T) {
	races := []string{"in-flight", "burst", "two-workers", "provider-error"}
	for _, v := range []string{"v2", "v3"} {
		one := raceExample(t, "../examples/gofiber-"+v+"/one-worker.yaml", races...)
		if one["in-flight"].Verdict != "held" || one["burst"].Verdict != "held" || one["two-workers"].Status != results.NotApplicable {
			t.Errorf("%s, one worker: %+v", v, one)
		}
		two := raceExample(t, "../examples/gofiber-"+v+"/two-workers.yaml", races...)
		if c := two["two-workers"]; len(c.Charges) != 2 || !violatedIn(c, "effect/at-most-once") {
			t.Errorf("%s, two workers: want two charges: %+v", v, c)
		}
		if c := two["provider-error"]; c.Attempts[0].Status != c.Attempts[1].Status || len(c.Charges) != 0 {
			t.Errorf("%s: the provider's error is cached: %+v", v, c)
		}
	}
}
