package runner_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// private keeps its records where nobody sees them, and lets duplicates wait at a
// lock, which nobody sees either.
type private struct {
	mu   sync.Mutex
	done map[string][]byte
}

func (p *private) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, known := p.done[req.StoredName()]; known {
		return idempotency.Outcome{Result: r, Source: idempotency.Replayed, Stored: true}, nil
	}
	r, err := act(context.WithoutCancel(ctx))
	if err == nil {
		p.done[req.StoredName()] = r
	}
	return idempotency.Outcome{Result: r, Source: idempotency.Executed, Stored: true}, err
}

func privateEntry(unseen bool) impl.Entry {
	return impl.Entry{Name: "private", Unseen: unseen, New: func(impl.Env) (idempotency.Coordinator, error) {
		return &private{done: map[string][]byte{}}, nil
	}}
}

// TestUnseenWaitIsSilence: a race is made although nobody says that he waits, and
// what was not seen is not judged.
func TestUnseenWaitIsSilence(t *testing.T) {
	s, _ := scenarios.Lookup("burst")
	run, histories := runner.Run(t.Context(), runner.Config{Scenarios: []scenarios.Scenario{s}, Targets: []impl.Entry{privateEntry(true)}, Backend: open(t, backend.Embedded)})
	c := run.Cells[0]
	if c.Verdict != "held" {
		t.Errorf("%s: verdict %q, want held", c.Why, c.Verdict)
	}
	for _, f := range c.Findings {
		if strings.HasPrefix(f.Invariant, "record/final") || strings.HasPrefix(f.Invariant, "claim/fenced") {
			t.Errorf("%s is judged, and nobody saw a record", f.Invariant)
		}
	}
	if histories["burst.private"].Header.Inspected {
		t.Error("the header says that the store was looked into")
	}
}

// TestSilenceIsNoProof: the same of one that has not said so, for it executed and no
// port was called. Its twin on the ports is inspected.
func TestSilenceIsNoProof(t *testing.T) {
	s, _ := scenarios.Lookup("sequential-retry")
	_, histories := runner.Run(t.Context(), runner.Config{Scenarios: []scenarios.Scenario{s},
		Targets: append(entries(t, "wait"), privateEntry(false)), Backend: open(t, backend.Embedded)})
	if histories["sequential-retry.private"].Header.Inspected {
		t.Error("of one that called no port, the header says that the store was looked into")
	}
	if !histories["sequential-retry.wait"].Header.Inspected {
		t.Error("of one that called its port, the header says that the store was not looked into")
	}
}

// TestCountingStoreCallsNeedsEyes: where they are not seen, the cell says so.
func TestCountingStoreCallsNeedsEyes(t *testing.T) {
	s, _ := scenarios.Lookup("stale-takeover")
	run, _ := runner.Run(t.Context(), runner.Config{Scenarios: []scenarios.Scenario{s}, Targets: []impl.Entry{privateEntry(true)}, Backend: open(t, backend.Embedded)})
	if c := run.Cells[0]; c.Status != "not-applicable" || !strings.Contains(c.Why, "client of its own") {
		t.Errorf("%s %q: want not applicable, for it has a client of its own", c.Status, c.Why)
	}
}
