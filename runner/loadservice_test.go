package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/idemrace/idemrace/config"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/store/backend"
)

func loadConfig(p load.Plan, faults ...runner.LoadFault) runner.LoadConfig {
	return runner.LoadConfig{Plan: p, Takes: 5 * time.Millisecond, Faults: faults}
}

func loadService(t *testing.T, b *backend.Backend, svc config.Service, cfg runner.LoadConfig) load.Report {
	t.Helper()
	r, err := runner.LoadService(t.Context(), runner.ServiceConfig{Service: svc, Environ: os.Environ(), Hide: func(s string) string { return s }, Backend: b}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// patient is paymentsWith whose leases a slow machine does not overrun: under load
// they would, and then a second charge is nobody's fault.
func patient(t *testing.T, impl string) config.Service {
	t.Helper()
	svc := paymentsWith(t, impl)
	svc.Workers.Command = strings.Replace(svc.Workers.Command, "--lease 1s", "--lease 30s", 1)
	svc.Profile.Lease = 30 * time.Second
	return svc
}

// pressing waits for answers: a slow machine makes the load last longer, and nothing
// else.
func pressing(n int64) load.Plan {
	return load.Plan{Seed: 1, Pace: load.Clients(6), Requests: n, Duplicates: 0.5, Payloads: 0.1, JustAfter: 0.2, Hot: 3, HotShare: 0.05}
}

// A service that makes each effect once is not accused, and one that does not is
// caught, by the same plan; what the ledger has is what the judge found.
func TestLoadJudgesServices(t *testing.T) {
	b := open(t, backend.Embedded)
	for _, row := range []struct {
		impl  string
		sound bool
	}{{"wait", true}, {"cache", false}, {"per-process-lock", false}} {
		t.Run(row.impl, func(t *testing.T) {
			t.Parallel()
			r := loadService(t, b, patient(t, row.impl), loadConfig(pressing(600)))
			v := r.Verdicts
			if row.sound && (len(v.Violated) > 0 || v.Ledger.Doubles != 0 || v.Succeeded != v.Ledger.Refs) {
				t.Errorf("%+v", v)
			}
			if !row.sound && (v.Ledger.Doubles == 0 || v.Violated["effect/at-most-once"] != v.Ledger.Doubles) {
				t.Errorf("%d double charges, %v", v.Ledger.Doubles, v.Violated)
			}
			if r.Sent != 600 || r.Workers != 2 || r.Commands == 0 || len(r.Timeline.Moments()) == 0 || r.Recovery != nil || r.Trouble != "" {
				t.Errorf("%+v", r)
			}
			var doubles int64
			for _, m := range r.Timeline.Moments() {
				doubles += m.Doubles
			}
			if doubles != v.Ledger.Doubles {
				t.Errorf("the time line has %d double charges, the ledger %d", doubles, v.Ledger.Doubles)
			}
		})
	}
}

// A lock within a process is sound while there is one: the duplicates must go to
// another worker to find it.
func TestLoadOfOneWorkerCannotSeeItsLock(t *testing.T) {
	b := open(t, backend.Embedded)
	svc := patient(t, "per-process-lock")
	svc.Workers.Count = 1
	if v := loadService(t, b, svc, loadConfig(pressing(400))).Verdicts; v.Ledger.Doubles != 0 || v.Ledger.Refs == 0 {
		t.Errorf("%+v", v)
	}
}

// Charges told apart by their amounts alone, by a service that knows no key.
func TestLoadTellsChargesByTheirAmounts(t *testing.T) {
	b := open(t, backend.Embedded)
	svc := configured(t, fmt.Sprintf(`targets: [{name: shop, request: {path: /charges}, workers: {command: "exec %s", ready: /health, env: {SHOP_MODE: never-replays}}}]`, os.Args[0]))
	p := pressing(200)
	p.Hot, p.HotShare, p.Payloads = 0, 0, 0
	v := loadService(t, b, svc, loadConfig(p)).Verdicts
	if v.Ledger.Charges == 0 || v.Ledger.Doubles == 0 || v.Answers["in-progress"] == 0 {
		t.Errorf("%+v", v)
	}
}

// Faults act at their times, on the worker that is named, and are undone; the report
// says so.
func TestLoadMakesFaultsOfServices(t *testing.T) {
	b := open(t, backend.Embedded)
	at := func(kind, worker string, from time.Duration) runner.LoadFault {
		return runner.LoadFault{Kind: kind, Worker: worker, At: from, For: 200 * time.Millisecond}
	}
	p := load.Plan{Seed: 1, Pace: load.Constant(100), For: 2500 * time.Millisecond, Duplicates: 0.2}
	r := loadService(t, b, patient(t, "fenced"), loadConfig(p, at(runner.WorkerKillFault, "", 300*time.Millisecond), at(runner.WorkerPauseFault, "w2", 400*time.Millisecond),
		at(runner.StoreDownFault, "", 1200*time.Millisecond), at(runner.ProviderErrors, "", 1100*time.Millisecond), at(runner.ProviderSlowFault, "", 300*time.Millisecond)))
	if len(r.Faults) != 5 || r.Trouble != "" || r.Recovery == nil {
		t.Fatalf("%+v", r)
	}
	for i, f := range r.Faults {
		asked, err := runner.ParseLoadFault(f.Fault)
		due := float64((asked.At + asked.For).Milliseconds())
		if err != nil || f.Error != "" || f.Ended < due || i > 0 && f.Began < r.Faults[i-1].Began {
			t.Errorf("%+v", f)
		}
	}
	var errors int64
	for _, m := range r.Timeline.Moments() {
		errors += m.Errors
	}
	if v := r.Verdicts; errors == 0 || v.Answers["error"] == 0 || v.Answers["ok"] == 0 {
		t.Errorf("%d errors: %v", errors, v.Answers)
	}
	if r.Latency.Max() < (time.Second).Microseconds() {
		t.Errorf("the slow provider made nobody wait: %d µs", r.Latency.Max())
	}
}

// What cannot be loaded, or not so, is one error that says why.
func TestServicesThatCannotBeLoaded(t *testing.T) {
	b := open(t, backend.Embedded)
	shop := func(rest string) config.Service {
		return configured(t, fmt.Sprintf(`targets: [{name: shop, request: {path: /charges}, effects: {ref: "field:ref"}, %s workers: {command: "exec %s", ready: /health, env: {SHOP_MODE: sound}}}]`, rest, os.Args[0]))
	}
	running := httptest.NewServer(http.NotFoundHandler())
	defer running.Close()
	for _, row := range []struct {
		why   string
		svc   config.Service
		fault runner.LoadFault
		is    error
		want  string
	}{
		{"nobody listens", configured(t, `targets: [{name: shop, request: {path: /charges}, store: none, workers: "http://127.0.0.1:1"}]`), runner.LoadFault{}, runner.ErrTarget, "nothing listens"},
		{"it is no shop", configured(t, fmt.Sprintf(`targets: [{name: shop, request: {path: /charges}, store: none, workers: %q}]`, running.URL)), runner.LoadFault{}, runner.ErrTarget, "404"},
		{"rows", configured(t, `targets: [{name: shop, request: {path: /charges}, workers: {command: sleep 1}, effects: {command: "true", ref: amount, columns: {id: id, amount: a}}}]`), runner.LoadFault{}, runner.ErrTarget, "rows"},
		{"setup per ref", shop(`setup: [{per: ref, command: "true"}],`), runner.LoadFault{}, runner.ErrTarget, "per ref"},
		{"no such worker", shop(""), runner.LoadFault{Kind: runner.WorkerKillFault, Worker: "w7", For: time.Second}, runner.ErrFault, "there is no worker w7"},
		{"a store that it does not use", shop(""), runner.LoadFault{Kind: runner.StoreDownFault, For: time.Second}, runner.ErrFault, "sent nothing to REDIS_URL"},
	} {
		cfg := loadConfig(pressing(10))
		if row.fault.Kind != "" {
			cfg.Faults = []runner.LoadFault{row.fault}
		}
		_, err := runner.LoadService(t.Context(), runner.ServiceConfig{Service: row.svc, Environ: os.Environ(), Hide: func(s string) string { return s }, Backend: b}, cfg)
		if !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

// A worker that ends by itself is told, and so is a fault that cannot be undone.
func TestLoadTellsTrouble(t *testing.T) {
	b := open(t, backend.Embedded)
	svc := configured(t, fmt.Sprintf(`targets: [{name: shop, request: {path: /charges}, effects: {ref: "field:ref"}, workers: {command: "exec %s", ready: /health, env: {SHOP_MODE: dies}}}]`, os.Args[0]))
	if r := loadService(t, b, svc, loadConfig(pressing(100))); !strings.Contains(r.Trouble, "worker w1 has died; it last said: out of memory") {
		t.Errorf("%q", r.Trouble)
	}
}

// When a load is interrupted it says so, judges what it has, and leaves nothing.
func TestInterruptedLoad(t *testing.T) {
	b := open(t, backend.Embedded)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := loadConfig(load.Plan{Seed: 1, Pace: load.Clients(5), For: time.Hour})
	cfg.Progress = func(load.Snapshot) { cancel() }
	r, err := runner.LoadService(ctx, runner.ServiceConfig{Service: patient(t, "wait"), Environ: os.Environ(), Hide: func(s string) string { return s }, Backend: b}, cfg)
	if err != nil || !r.Interrupted || r.Verdicts.Succeeded == 0 || r.Verdicts.Open != 0 {
		t.Errorf("%v: %+v", err, r.Verdicts)
	}
}

func TestParseLoadFault(t *testing.T) {
	for text, want := range map[string]runner.LoadFault{
		"store-down@10s+2s":          {Kind: "store-down", At: 10 * time.Second, For: 2 * time.Second},
		"worker-kill:w2@0s+500ms":    {Kind: "worker-kill", Worker: "w2", For: 500 * time.Millisecond},
		"worker-pause@1m+1s":         {Kind: "worker-pause", At: time.Minute, For: time.Second},
		"provider-errors@100ms+10ms": {Kind: "provider-errors", At: 100 * time.Millisecond, For: 10 * time.Millisecond},
	} {
		got, err := runner.ParseLoadFault(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := runner.ParseLoadFault(got.String()); err != nil || again != want {
			t.Errorf("%s is written %s, which is read %+v, %v", text, got, again, err)
		}
	}
	if got, err := runner.ParseLoadFault("redis-down@1s+1s"); err != nil || got.String() != "store-down@1s+1s" {
		t.Errorf("redis-down is %v, %v", got, err)
	}
	for _, text := range []string{"", "store-down", "store-down@1s", "store-down@1s+0s", "store-down@-1s+1s", "redis-up@1s+1s", "store-down:w1@1s+1s", "worker-kill@x+1s"} {
		if got, err := runner.ParseLoadFault(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
