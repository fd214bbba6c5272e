package runner_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/config"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// payments is the binary of examples/payments, built once.
var payments = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "idemrace-payments-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "payments")
	out, err := exec.Command("go", "build", "-o", path, "../examples/payments").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func configured(t *testing.T, text string) config.Service {
	t.Helper()
	cfg, err := config.Parse([]byte(text), t.TempDir(), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Targets[0]
}

// paymentsWith is examples/payments with a coordinator of the catalogue, as two
// processes with a lease of a second.
func paymentsWith(t *testing.T, impl string) config.Service {
	t.Helper()
	path, err := payments()
	if err != nil {
		t.Fatal(err)
	}
	policy, errors := "open", "errors: released, "
	if impl == "fenced" {
		policy, errors = "closed", ""
	}
	return configured(t, fmt.Sprintf(`
targets:
  - name: %s
    request:
      path: /charges
      headers: {X-Tenant: "{{.Tenant}}", X-Operation: "{{.Operation}}"}
      body: '{"amount": {{.Amount}}, "currency": "EUR", "ref": {{json .Ref}}{{if .Trace}}, "trace": {{json .Trace}}{{end}}}'
    profile:
      {in-flight: [409], reuse: [422], missing-key: [400], lease: 1s, wait-limit: 200ms, %sreplay-marker: "header:Idempotent-Replayed",
       store-down: %s, fields: [amount, currency], unknown: ["type=https://pkg.go.dev/github.com/idemrace/idemrace/idempotency/idempotencyhttp#TypeUnknownOutcome"]}
    workers: {command: "exec %s --impl %s --lease 1s --wait-limit 200ms", count: 2, ready: /health}
    effects: {ref: "metadata:ref"}
`, impl, errors, policy, path, impl))
}

func openService(ctx context.Context, b *backend.Backend, svc config.Service) (*runner.Service, error) {
	return runner.OpenService(ctx, runner.ServiceConfig{Service: svc, Environ: os.Environ(), Hide: func(s string) string { return s }, Backend: b})
}

func raceService(t *testing.T, b *backend.Backend, svc config.Service, names ...string) results.Run {
	t.Helper()
	return raceServiceIn(t, "", b, svc, names...)
}

func raceServiceIn(t *testing.T, dir string, b *backend.Backend, svc config.Service, names ...string) results.Run {
	t.Helper()
	s, err := runner.OpenService(t.Context(), runner.ServiceConfig{Service: svc, Dir: dir, Environ: os.Environ(), Hide: func(s string) string { return s }, Backend: b})
	if err != nil {
		t.Fatal(err)
	}
	run, _ := runner.Run(t.Context(), runner.Config{Scenarios: picked(t, names...), Services: []*runner.Service{s}, Backend: b, Seed: 1})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return run
}

func picked(t *testing.T, names ...string) []scenarios.Scenario {
	t.Helper()
	var list []scenarios.Scenario
	for _, name := range names {
		s, ok := scenarios.Lookup(name)
		if !ok {
			t.Fatalf("no scenario %q", name)
		}
		list = append(list, s)
	}
	return list
}

// quick are scenarios that last less than a second over HTTP and show most of what
// can be seen from outside.
func quick() []string {
	return []string{"in-flight", "sequential-retry", "key-reuse", "burst", "two-workers", "two-workers-retry", "scope", "tenants", "payload-in-flight",
		"provider-error", "member-order", "volatile-fields", "overlong-key", "near-equal-keys", "concurrent-replays", "owner-fails", "worker-death", "redis-down", "joined-names"}
}

// The verdict on a service in another process equals the one on the same
// coordinator in this process, for every invariant that can be seen from outside.
// What cannot: over HTTP an error is never definitive, so a charge behind one is not
// hidden; and what a store was asked while it was disturbed.
func TestBlackBoxVerdictsAreTheSame(t *testing.T) {
	b := open(t, backend.RedisServer)
	for _, name := range []string{"cache", "wait", "raise", "fenced", "per-process-lock", "no-fingerprint", "errors-are-cached", "unscoped", "joins-names",
		"truncates-keys", "long-keys-run-free", "replay-is-conflict", "hashes-everything", "thundering-waiters"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := raceService(t, b, paymentsWith(t, name), quick()...)
			inside, _ := runner.Run(t.Context(), runner.Config{Scenarios: picked(t, quick()...), Targets: entries(t, name), Backend: b, Seed: 1})
			same := 0
			for i, c := range outside.Cells {
				if c.Status != results.Judged {
					if c.Status == results.CouldNotRun {
						t.Errorf("%s could not run: %s", c.Scenario, c.Why)
					}
					continue
				}
				same += compareCells(t, c, inside.Cells[i])
			}
			t.Logf("%s: %d findings are the same", name, same)
			if same < 100 {
				t.Errorf("only %d findings were compared", same)
			}
		})
	}
}

func compareCells(t *testing.T, out, in results.Cell) (same int) {
	t.Helper()
	for _, f := range out.Findings {
		j := slices.IndexFunc(in.Findings, func(g results.Finding) bool { return g.Invariant == f.Invariant })
		switch {
		case j < 0:
		case in.Findings[j].Verdict == f.Verdict:
			same++
		case behindError(out) && (f.Invariant == "effect/accounted" || f.Invariant == "effect/silent-duplicate"):
		default:
			t.Errorf("%s, %s: %s over HTTP, %s in process: %s %s", out.Scenario, f.Invariant, f.Verdict, in.Findings[j].Verdict, f.Because, in.Findings[j].Because)
		}
	}
	return same
}

func behindError(c results.Cell) bool {
	return slices.ContainsFunc(c.Attempts, func(a results.Attempt) bool { return a.Answer == history.Error })
}

// Each way in which a service can be no good is one error that says what was seen,
// and nothing is left.
func TestServicesThatCannotBeRaced(t *testing.T) {
	b := open(t, backend.Embedded)
	answering := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	charge := `targets: [{name: shop, request: {path: /charges, timeout: 500ms}, effects: {quiet: 50ms}, workers: `
	release := make(chan struct{})
	defer close(release)
	for _, row := range []struct{ why, text, want string }{
		{"does not start", charge + `{command: /nowhere/at-all}}]`, "exit status 127"},
		{"dies at once", charge + `{command: "echo no database; exit 3"}}]`, "no database"},
		{"never gets ready", charge + `{command: sleep 60, ready-within: 300ms}}]`, "not ready after 300ms"},
		{"nobody listens", charge + `"http://127.0.0.1:1", store: none}]`, "nothing listens"},
		{"HTML", charge + fmt.Sprintf("%q}]", answering(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>Welcome</html>") })), "<html>Welcome</html>"},
		{"500 to everything", charge + fmt.Sprintf("%q}]", answering(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oops", 500) })), "500 oops"},
		{"refuses everything", charge + fmt.Sprintf("%q}]", answering(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "go away", http.StatusForbidden) })), "403 go away"},
		{"hangs", charge + fmt.Sprintf("%q}]", answering(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		})), "no answer in time"},
		{"resets", charge + fmt.Sprintf("%q}]", answering(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })), "the connection broke"},
		{"redirects", charge + fmt.Sprintf("%q}]", answering(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) })), "redirects are not followed"},
		{"does not end", charge + fmt.Sprintf("%q}]", answering(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, strings.Repeat("x", 4096))
			}
		})), "does not end"},
		{"does not charge", charge + fmt.Sprintf("%q}]", answering(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id": "ch_1"}`) })), "was not called"},
	} {
		t.Run(row.why, func(t *testing.T) {
			s, err := openService(t.Context(), b, configured(t, row.text))
			if err == nil {
				t.Fatal(s.Close())
			}
			if !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v\nwant %q in it", err, row.want)
			}
		})
	}
}

// A target that serialises everything, or never replays, is never clean.
func TestNeverClean(t *testing.T) {
	b := open(t, backend.Embedded)
	for _, row := range []struct {
		why, mode, scenario, verdict string
	}{
		{"a lock over all keys hides every race", "serialises", "burst", string(check.Inconclusive)},
		{"who never replays is a loser to its clients", "never-replays", "sequential-retry", string(check.Violated)},
	} {
		t.Run(row.why, func(t *testing.T) {
			run := raceService(t, b, configured(t, fmt.Sprintf(`targets: [{name: shop, request: {path: /charges}, effects: {ref: "field:ref"}, workers: {command: "exec %s", ready: /health, env: {SHOP_MODE: %s}}}]`, os.Args[0], row.mode)), row.scenario)
			if c := run.Cells[0]; c.Verdict != row.verdict || c.AsExpected {
				t.Errorf("%s is %s %s: %+v", row.scenario, c.Status, c.Verdict, c.Findings)
			}
		})
	}
}

// When the run ends early, no worker is left.
func TestInterruptedServiceLeavesNothing(t *testing.T) {
	b := open(t, backend.Embedded)
	s, err := openService(t.Context(), b, paymentsWith(t, "wait"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	run, _ := runner.Run(ctx, runner.Config{Scenarios: picked(t, quick()...), Services: []*runner.Service{s}, Backend: b})
	if !run.Interrupted {
		t.Error("the run says that it was not interrupted")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	path, _ := payments()
	if out, err := exec.Command("pgrep", "-f", path).Output(); err == nil {
		t.Errorf("processes are left: %s", out)
	}
}
