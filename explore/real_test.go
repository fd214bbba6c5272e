package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// sampled is how many schedules are made on both stores.
const sampled = 1000

// The model store is honest: each schedule ends on real Redis as it does on the model,
// in answers, charges, and what lies under the key.
func TestTheModelIsHonest(t *testing.T) {
	s := onRedis(t)
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

func onRedis(t *testing.T) *redisstore.Store {
	t.Helper()
	client := redis.NewClient(redisstore.Options(storetest.StartRedis(t)))
	s, err := redisstore.New(client, redisstore.Config{Prefix: "explore:"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(); _ = client.Close() })
	return s
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
	cfg.finished = func(made *world) {
		w, _ := record(&prepared, made.chosen)
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

// A search on a real store finds what one on the model finds, schedule for schedule.
func TestExploreOnRedis(t *testing.T) {
	s := onRedis(t)
	for _, name := range []string{"cache", "wait", "raise", "fenced", "per-process-store"} {
		for _, strategy := range []Strategy{Exhaustive, PCT} {
			cfg := Config{Entry: entry(t, name), Expiries: 2, Preemptions: 1, Strategy: strategy, MaxRuns: 300}
			model, err := Explore(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Back = func() (Real, error) { return s, nil }
			real, err := Explore(t.Context(), cfg)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if real.Runs != model.Runs || real.Complete != model.Complete || !slices.Equal(real.Outcomes, model.Outcomes) || !slices.Equal(violated(real), violated(model)) {
				t.Errorf("%s, %s: on Redis %d schedules, %q, %q; on the model %d, %q, %q", name, strategy,
					real.Runs, real.Outcomes, violated(real), model.Runs, model.Outcomes, violated(model))
			}
		}
	}
}

// forgetful is a store that breaks the contract: it says that it has settled.
type forgetful struct{ Real }

func (f forgetful) Settle(ctx context.Context, s store.Settlement) (store.Settled, error) {
	if s.Name == "heard" { // not of the schedule: it is what begins each run
		return f.Real.Settle(ctx, s)
	}
	return store.Settled{Applied: true}, nil
}

// A store that does not end a schedule as the model does is told by name.
func TestAStoreThatDiffers(t *testing.T) {
	s := onRedis(t)
	cfg := Config{Entry: entry(t, "raise"), Clients: 1, Back: func() (Real, error) { return forgetful{s}, nil }}
	if _, err := Explore(t.Context(), cfg); !errors.Is(err, ErrStoresDiffer) || !strings.Contains(err.Error(), "pending") {
		t.Errorf("explore: %v", err)
	}
	cfg.Strategy = Random
	if _, err := Explore(t.Context(), cfg); !errors.Is(err, ErrStoresDiffer) {
		t.Errorf("random: %v", err)
	}
	cfg.Back = nil
	schedule := samples(t, cfg)[0].Schedule
	cfg.Back = func() (Real, error) { return forgetful{s}, nil }
	if _, err := Replay(cfg, schedule); !errors.Is(err, ErrStoresDiffer) {
		t.Errorf("replay: %v", err)
	}
}
