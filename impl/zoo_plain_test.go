package impl_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
)

// script is a story that is played on a broken coordinator and on the sound core,
// beside each other; it writes down what happened.
type script func(s *stage)

// Each row shows one fault: the same script, the core's transcript, the member's.
func plainRows() []struct {
	member string
	play   script
	core   string
	zoo    string
} {
	return []struct {
		member string
		play   script
		core   string
		zoo    string
	}{
		{"claim-overwrites", inFlight, "B in progress. A ch_1 executed. 1 charged.", "B ch_1 executed. A ch_2 executed. 2 charged."},
		{"set-then-expire", diesAfterItsFirstCommand, "after the lease: B ch_1 executed. 1 charged.", "after the lease: B in progress. 0 charged."},
		{"claim-for-retention", diesWhileItRuns, "after the lease: B ch_1 executed. 1 charged.", "after the lease: B in progress. 0 charged."},
		{"seconds-for-milliseconds", diesWhileItRuns, "after the lease: B ch_1 executed. 1 charged.", "after the lease: B in progress. 0 charged."},
		{"stale-takeover", stopsAfterItsFirstCommand, "A in progress. B ch_2 executed. C ch_2 replayed. 2 charged.", "A ch_1 executed. B ch_2 executed. C ch_2 replayed. 2 charged."},
		{"own-claim-is-a-rival", claimReplyLost, "A ch_1 executed. 1 charged.", "A in progress. 0 charged."},
		{"errors-are-cached", failsOnce, "A failed. B ch_1 executed. 1 charged.", "A failed. B told of the failure. 0 charged."},
		{"empty-replay", retry, "A ch_1 executed. B ch_1 replayed. 1 charged.", "A ch_1 executed. B nothing replayed. 1 charged."},
		{"replay-is-conflict", retry, "A ch_1 executed. B ch_1 replayed. 1 charged.", "A ch_1 executed. B in progress. 1 charged."},
		{"forgets-early", retryAfterTheLease, "A ch_1 executed. B ch_1 replayed. 1 charged.", "A ch_1 executed. B ch_2 executed. 2 charged."},
		{"oversize-runs-again", oversize, "A … executed. B too large. 1 charged.", "A … executed. B … executed. 2 charged."},
		{"per-process-lock", otherWorkerInFlight, "B in progress. A ch_1 executed. 1 charged.", "B ch_1 executed. A ch_2 executed. 2 charged."},
		{"per-process-store", otherWorkerRetries, "A ch_1 executed. B ch_1 replayed. 1 charged.", "A ch_1 executed. B ch_2 executed. 2 charged."},
		{"falls-back-to-memory", outage, "A store down. B store down. C store down. D ch_1 executed. 1 charged.",
			"A ch_1 executed. B ch_1 replayed. C ch_2 executed. D ch_3 executed. 3 charged."},
		{"swallows-outage", outage, "A store down. B store down. C store down. D ch_1 executed. 1 charged.",
			"A ch_1 executed. B ch_2 executed. C ch_3 executed. D ch_4 executed. 4 charged."},
	}
}

func TestMembersOnPlainCommandsBesideTheirCore(t *testing.T) {
	for _, row := range plainRows() {
		t.Run(row.member, func(t *testing.T) {
			entry, ok := impl.Lookup(row.member)
			if !ok {
				t.Fatal("not in the catalogue")
			}
			if got := played(t, row.play, soundCore(entry)); got != row.core {
				t.Errorf("the core:\n got %s\nwant %s", got, row.core)
			}
			if got := played(t, row.play, entry.New); got != row.zoo {
				t.Errorf("the member:\n got %s\nwant %s", got, row.zoo)
			}
		})
	}
}

// One fault each: in every other story a member does what the core does.
func TestMembersOnPlainCommandsHaveOneFaultEach(t *testing.T) {
	stories := map[string]script{"retry": retry, "in flight": inFlight, "fails once": failsOnce, "oversize": oversize,
		"other worker in flight": otherWorkerInFlight, "other worker retries": otherWorkerRetries,
		"dies while it runs": diesWhileItRuns, "retry after the lease": retryAfterTheLease, "claim reply lost": claimReplyLost, "outage": outage, "unknown outcome": unknownOutcome}
	shows := map[string][]string{
		"claim-overwrites":         {"in flight", "other worker in flight", "unknown outcome"},
		"claim-for-retention":      {"dies while it runs"},
		"seconds-for-milliseconds": {"dies while it runs"},
		"own-claim-is-a-rival":     {"claim reply lost"},
		"errors-are-cached":        {"fails once"},
		"empty-replay":             {"retry", "other worker retries", "retry after the lease"},
		"replay-is-conflict":       {"retry", "other worker retries", "retry after the lease", "oversize"},
		"forgets-early":            {"retry after the lease"},
		"oversize-runs-again":      {"oversize"},
		"per-process-lock":         {"other worker in flight", "unknown outcome"},
		"per-process-store":        {"other worker in flight", "other worker retries"},
		"falls-back-to-memory":     {"outage"},
		"swallows-outage":          {"outage"},
	}
	for _, row := range plainRows() {
		entry, _ := impl.Lookup(row.member)
		for name, play := range stories {
			core, member := played(t, play, soundCore(entry)), played(t, play, entry.New)
			if want := slices.Contains(shows[row.member], name); want != (core != member) {
				t.Errorf("%s in %q: fault expected: %v\n  core: %s\nmember: %s", row.member, name, want, core, member)
			}
		}
	}
}

// A member without a row would be a fault that nobody has seen.
func TestEveryMemberOnPlainCommandsHasARow(t *testing.T) {
	rows := plainRows()
	if len(rows) != 15 {
		t.Errorf("%d rows, want 15", len(rows))
	}
	for _, row := range rows {
		if e, _ := impl.Lookup(row.member); !slices.Contains(e.Groups, impl.Zoo) || len(e.Lacks) == 0 {
			t.Errorf("%s: groups %v, %d lacks", row.member, e.Groups, len(e.Lacks))
		}
	}
}

// soundCore is impl/plain with nothing replaced, declared as the member is.
func soundCore(e impl.Entry) func(impl.Env) (idempotency.Coordinator, error) {
	return func(env impl.Env) (idempotency.Coordinator, error) {
		return plain.New(env.KV, env.Clock, plain.Config{Lease: lease, Retention: time.Hour, CompleteFor: time.Second,
			MaxResult: limit, FailClosed: e.Policy == reservation.FailClosed}, plain.Parts{})
	}
}

const (
	lease = 30 * time.Second
	limit = 16 // bytes
)

// stage is where a script is played: workers that share a store and a till.
type stage struct {
	t       *testing.T
	kv      *workersKV
	newOne  func(impl.Env) (idempotency.Coordinator, error)
	charges atomic.Int64
	said    []string
}

func played(t *testing.T, play script, newOne func(impl.Env) (idempotency.Coordinator, error)) (transcript string) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, kv: &workersKV{KV: memstore.New(clock.Real{})}, newOne: newOne}
		play(s)
		s.say("%d charged", s.charges.Load())
		transcript = strings.ReplaceAll(strings.Join(s.said, ". ")+".", ":. ", ": ")
	})
	return transcript
}

func (s *stage) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

// worker is one more process on the same store.
func (s *stage) worker() idempotency.Coordinator {
	s.t.Helper()
	c, err := s.newOne(impl.Env{KV: s.kv, Clock: clock.Real{}, Config: reservation.Config{Lease: lease, Retention: time.Hour, MaxResult: limit}})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// charge names its charge: ch_1, ch_2, …
func (s *stage) charge(context.Context) ([]byte, error) {
	return fmt.Appendf(nil, "ch_%d", s.charges.Add(1)), nil
}

func (s *stage) held(gate <-chan struct{}) idempotency.Action {
	return func(ctx context.Context) ([]byte, error) {
		<-gate
		return s.charge(ctx)
	}
}

// send writes down what the client is told.
func (s *stage) send(client string, c idempotency.Coordinator, act idempotency.Action) {
	s.say("%s %s", client, s.ask(c, act))
}

// start sends beside the script, and returns once that call is blocked or done.
func (s *stage) start(c idempotency.Coordinator, act idempotency.Action) <-chan string {
	done := make(chan string, 1)
	go func() { done <- s.ask(c, act) }()
	synctest.Wait()
	return done
}

func (s *stage) ask(c idempotency.Coordinator, act idempotency.Action) string {
	fingerprint, err := idempotency.FingerprintFields(map[string]any{"amount": 100})
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := c.Do(s.t.Context(), idempotency.Request{Operation: "charge", Key: "order-42", Fingerprint: fingerprint}, act)
	for is, words := range map[error]string{
		idempotency.ErrInProgress: "in progress", idempotency.ErrOwnerFailed: "told of the failure", idempotency.ErrNoEffect: "failed",
		idempotency.ErrResultTooLarge: "too large", idempotency.ErrStoreUnavailable: "store down",
	} {
		if errors.Is(err, is) {
			return words
		}
	}
	switch {
	case err != nil:
		return err.Error()
	case len(out.Result) == 0:
		return "nothing " + string(out.Source)
	case len(out.Result) > limit:
		return "… " + string(out.Source)
	}
	return string(out.Result) + " " + string(out.Source)
}

// workersKV is the workers' store; after is called when a command has been applied,
// and its error takes the place of the reply.
type workersKV struct {
	store.KV
	down  bool
	after func() error
}

var errDown = fmt.Errorf("connection refused: %w", store.ErrUnavailable)

func reply[T any](k *workersKV, command func() (T, error)) (T, error) {
	var zero T
	if k.down {
		return zero, errDown
	}
	v, err := command()
	if k.after != nil {
		if lost := k.after(); lost != nil {
			return zero, lost
		}
	}
	return v, err
}

func (k *workersKV) Get(ctx context.Context, name string) (value []byte, found bool, err error) {
	value, err = reply(k, func() (v []byte, err error) {
		v, found, err = k.KV.Get(ctx, name)
		return v, err
	})
	return value, found && err == nil, err
}

func (k *workersKV) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	_, err := reply(k, func() (any, error) { return nil, k.KV.Set(ctx, name, value, ttl) })
	return err
}

func (k *workersKV) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error) {
	return reply(k, func() (bool, error) { return k.KV.SetNX(ctx, name, value, ttl) })
}

func (k *workersKV) Expire(ctx context.Context, name string, ttl time.Duration) error {
	_, err := reply(k, func() (any, error) { return nil, k.KV.Expire(ctx, name, ttl) })
	return err
}

func (k *workersKV) Delete(ctx context.Context, name string) error {
	_, err := reply(k, func() (any, error) { return nil, k.KV.Delete(ctx, name) })
	return err
}

// The scripts.

func retry(s *stage) {
	c := s.worker()
	s.send("A", c, s.charge)
	s.send("B", c, s.charge)
}

func retryAfterTheLease(s *stage) {
	c := s.worker()
	s.send("A", c, s.charge)
	time.Sleep(lease)
	s.send("B", c, s.charge)
}

func inFlight(s *stage) {
	c := s.worker()
	meet(s, c, c)
}

func otherWorkerInFlight(s *stage) { meet(s, s.worker(), s.worker()) }

// meet: B comes while A runs.
func meet(s *stage, a, b idempotency.Coordinator) {
	gate := make(chan struct{})
	first := s.start(a, s.held(gate))
	s.send("B", b, s.charge)
	close(gate)
	s.say("A %s", <-first)
}

func otherWorkerRetries(s *stage) {
	s.send("A", s.worker(), s.charge)
	s.send("B", s.worker(), s.charge)
}

// diesWhileItRuns: A's worker never comes back from its action.
func diesWhileItRuns(s *stage) {
	never := make(chan struct{})
	dead := s.start(s.worker(), func(context.Context) ([]byte, error) {
		<-never
		return nil, idempotency.ErrNoEffect
	})
	time.Sleep(lease + time.Second)
	s.say("after the lease:")
	s.send("B", s.worker(), s.charge)
	close(never) // only for the bubble's sake
	<-dead
}

// diesAfterItsFirstCommand: it has been applied, and no other follows.
func diesAfterItsFirstCommand(s *stage) {
	never := make(chan struct{})
	s.kv.after = func() error {
		s.kv.after = nil
		<-never
		return errDown
	}
	dead := s.start(s.worker(), failing)
	time.Sleep(lease + time.Second)
	s.say("after the lease:")
	s.send("B", s.worker(), s.charge)
	close(never) // only for the bubble's sake
	<-dead
}

// stopsAfterItsFirstCommand: A has charged but not completed, and its lease has
// ended. B's worker stops when its first command has been applied, A completes, and
// B's goes on.
func stopsAfterItsFirstCommand(s *stage) {
	charged, goOn := make(chan struct{}), make(chan struct{})
	a := s.start(s.worker(), func(ctx context.Context) ([]byte, error) {
		result, err := s.charge(ctx)
		<-charged
		return result, err
	})
	time.Sleep(lease + time.Millisecond)
	s.kv.after = func() error {
		s.kv.after = nil
		<-goOn
		return nil
	}
	b := s.start(s.worker(), s.charge)
	close(charged)
	s.say("A %s", <-a)
	close(goOn)
	s.say("B %s", <-b)
	s.send("C", s.worker(), s.charge)
}

// claimReplyLost: the first command is applied, and its reply is lost.
func claimReplyLost(s *stage) {
	s.kv.after = func() error {
		s.kv.after = nil
		return errDown
	}
	s.send("A", s.worker(), s.charge)
}

func failing(context.Context) ([]byte, error) { return nil, idempotency.ErrNoEffect }

func failsOnce(s *stage) {
	c := s.worker()
	s.send("A", c, failing)
	s.send("B", c, s.charge)
}

// unknownOutcome: A does not know whether it has charged; B comes within the lease.
func unknownOutcome(s *stage) {
	c := s.worker()
	s.send("A", c, func(context.Context) ([]byte, error) { return nil, idempotency.ErrUnknownOutcome })
	s.send("B", c, s.charge)
}

func oversize(s *stage) {
	c := s.worker()
	large := func(ctx context.Context) ([]byte, error) {
		_, err := s.charge(ctx)
		return make([]byte, limit+1), err
	}
	s.send("A", c, large)
	s.send("B", c, large)
}

// outage: A, B and C come while the store is down, C to another worker; D when it
// is back.
func outage(s *stage) {
	c := s.worker()
	s.kv.down = true
	s.send("A", c, s.charge)
	s.send("B", c, s.charge)
	s.send("C", s.worker(), s.charge)
	s.kv.down = false
	s.send("D", c, s.charge)
}
