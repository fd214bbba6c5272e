package explore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// sampled is how many schedules are made on both stores.
const sampled = 1000

// The model store is honest: each schedule ends on real Redis as it does on the model,
// in answers, charges, and what lies under the key.
func TestTheModelIsHonest(t *testing.T) {
	client := redis.NewClient(redisstore.Options(storetest.StartRedis(t)))
	s, err := redisstore.New(client, redisstore.Config{Prefix: "explore:"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(); _ = client.Close() }()
	names := []string{"cache", "wait", "raise", "fenced", "claim-overwrites", "stale-takeover", "waiter-runs-anyway", "renews-anybody", "complete-without-token", "frees-the-unknown"}
	outcomes := map[string]bool{}
	n := 0
	for _, name := range names {
		cfg := Config{Entry: entry(t, name), Clients: 3, Faults: 1, Crashes: 1, Expiries: 2, Preemptions: Unbounded, Strategy: Random, Seed: 7, MaxRuns: sampled / len(names)}
		for _, virtual := range samples(t, cfg) {
			n++
			outcomes[virtual.Outcome] = true
			backed := cfg
			backed.Back = func() (Real, error) { return s, nil }
			real, err := Replay(backed, virtual.Schedule)
			if err != nil {
				t.Errorf("%s: %v\n%v", name, err, virtual.Schedule.Steps)
				continue
			}
			if real.Outcome != virtual.Outcome {
				t.Errorf("%s: on Redis %q, on the model %q\n%v", name, real.Outcome, virtual.Outcome, virtual.Schedule.Steps)
			}
			if want, got := recordsOf(virtual.History), recordsIn(t, s); want != got {
				t.Errorf("%s: on Redis lies %q, in the model %q\n%v", name, got, want, virtual.Schedule.Steps)
			}
		}
	}
	t.Logf("%d schedules, %d outcomes", n, len(outcomes))
	if n != sampled || len(outcomes) < 50 {
		t.Errorf("%d schedules and %d outcomes are too few to prove anything", n, len(outcomes))
	}
}

// samples are random schedules, made on the model.
func samples(t *testing.T, cfg Config) []Replayed {
	t.Helper()
	var all []Replayed
	prepared := cfg
	if err := prepared.check(); err != nil {
		t.Fatal(err)
	}
	defer prepared.free()
	var schedules []Schedule
	cfg.finished = func(_ *world, chosen []Choice) {
		w, _ := record(&prepared, chosen)
		schedules = append(schedules, prepared.schedule(w.steps))
	}
	if _, err := Explore(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	for _, s := range schedules {
		r, err := Replay(cfg, s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func recordsOf(h *history.History) string {
	var all []string
	for _, e := range h.Events {
		if e.Kind == history.RecordSeen {
			all = append(all, fmt.Sprintf("%s %s %s %d %d", e.Name, e.State, e.Token, e.Fence, e.Generation))
		}
	}
	return strings.Join(all, "; ")
}

func recordsIn(t *testing.T, s *redisstore.Store) string {
	t.Helper()
	records, err := s.Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range records {
		all = append(all, fmt.Sprintf("%s %s %s %d %d", r.Name, r.State, r.Token, r.Fence, r.Generation))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}
