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
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
)

// Each script is played twice, on a member of the zoo and on its correct core. It
// says what was answered, line by line; the two must differ exactly where the
// member is broken. The scripts run in a synctest bubble: time passes only when
// everybody waits.
func TestStoreZooBesideItsCore(t *testing.T) {
	for _, tc := range storeZooScripts() {
		t.Run(tc.member+"/"+tc.shows, func(t *testing.T) {
			for name, want := range map[string]string{tc.member: tc.broken, tc.core: tc.sound} {
				synctest.Test(t, func(t *testing.T) {
					s := newScene(t, name)
					tc.script(s)
					if got := strings.Join(s.said, ", "); got != want {
						t.Errorf("%s:\n got  %s\n want %s", name, got, want)
					}
				})
			}
		})
	}
}

type zooScript struct {
	member, core, shows string
	script              func(*scene)
	broken, sound       string
}

func storeZooScripts() []zooScript {
	return slices.Concat(ownerScripts(), unknownScripts(), payloadScripts(), nameScripts(), waiterScripts())
}

func ownerScripts() []zooScript {
	return []zooScript{
		{"release-without-token", "raise", "a late failure lets a third in", lateFailure,
			"A error, C ch_1 executed, B ch_1 superseded, 1 orphans, keys: - -", "A error, C in progress, B ch_1 executed, 0 orphans, keys: k k"},
		{"complete-without-token", "raise", "a late result replaces the new owner's", func(s *scene) {
			gate := make(chan struct{})
			a := s.start("A", s.held(gate))
			s.endLeases()
			s.send("B", s.charge)
			close(gate)
			s.hear(a)
			s.send("C", s.charge)
			s.say("%d orphans", s.orphans.Load())
		}, "B ch_1 executed, A ch_2 executed, C ch_2 replayed, 0 orphans", "B ch_1 executed, A ch_1 superseded, C ch_1 replayed, 1 orphans"},
	}
}

// The renewal's core in the catalogue is fenced; the new owner is not a client of
// either, but a worker that has claimed and died.
func TestRenewsAnybodyBesideFenced(t *testing.T) {
	wants := map[string]string{
		"renews-anybody": "the dead owner's lease holds, and A is still at it",
		"fenced":         "the dead owner's lease has ended, and A has stopped: " + store.ErrLeaseLost.Error(),
	}
	for name, want := range wants {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, name)
			stop := make(chan struct{})
			var inside context.Context
			a := s.start("A", func(ctx context.Context) ([]byte, error) {
				inside = ctx
				<-stop
				return s.charge(ctx)
			})
			s.takeOver()
			time.Sleep(2 * reservation.DefaultLease)
			got := "the dead owner's lease has ended"
			if s.record().LeaseLeft > 0 {
				got = "the dead owner's lease holds"
			}
			if cause := context.Cause(inside); cause != nil {
				got += ", and A has stopped: " + cause.Error()
			} else {
				got += ", and A is still at it"
			}
			if got != want {
				t.Errorf("%s:\n got  %s\n want %s", name, got, want)
			}
			close(stop)
			<-a
		})
	}
}

// takeOver claims the one key as another worker does, which then dies.
func (s *scene) takeOver() {
	s.t.Helper()
	s.endLeases()
	r := s.record()
	got, err := s.mem.Claim(s.t.Context(), store.Claim{Name: r.Name, Fingerprint: r.Fingerprint, Fingerprints: []string{r.Fingerprint},
		Token: "the-dead", Lease: reservation.DefaultLease, Retention: reservation.DefaultRetention})
	if !got.Mine || err != nil {
		s.t.Fatalf("not taken over: %+v, %v", got, err)
	}
}

// record is the one record.
func (s *scene) record() store.Record {
	s.t.Helper()
	records, err := s.mem.Records(s.t.Context())
	if err != nil || len(records) != 1 {
		s.t.Fatalf("records: %v, %v", records, err)
	}
	return records[0]
}

// lateFailure: A is overtaken by B and fails while B runs; then C comes.
func lateFailure(s *scene) {
	gateA, gateB := make(chan struct{}), make(chan struct{})
	var keys []string
	seen := func(act idempotency.Action) idempotency.Action {
		return func(ctx context.Context) ([]byte, error) {
			key := "-"
			if idempotency.ProviderKey(ctx) != "" {
				key = "k"
			}
			keys = append(keys, key)
			return act(ctx)
		}
	}
	a := s.start("A", seen(func(context.Context) ([]byte, error) { <-gateA; return nil, errBank }))
	s.endLeases()
	b := s.start("B", seen(s.held(gateB)))
	close(gateA)
	s.hear(a)
	s.send("C", s.charge)
	close(gateB)
	s.hear(b)
	s.say("%d orphans", s.orphans.Load())
	s.say("keys: %s", strings.Join(keys, " "))
}

func unknownScripts() []zooScript {
	return []zooScript{
		{"release-on-lost-commit", "wait", "the retry after a result that was not stored", func(s *scene) {
			s.store.completionsFail.Store(true)
			s.send("A", s.charge)
			s.store.completionsFail.Store(false)
			s.send("B", s.charge)
		}, "A ch_1 executed, B ch_2 executed", "A ch_1 executed, B in progress"},
		{"release-on-lost-commit", "wait", "a result that is stored is safe", func(s *scene) {
			s.send("A", s.charge)
			s.send("B", s.charge)
		}, "A ch_1 executed, B ch_1 replayed", "A ch_1 executed, B ch_1 replayed"},
		{"frees-the-unknown", "wait", "the retry after an unknown outcome", func(s *scene) {
			s.send("A", s.chargeThen(idempotency.ErrUnknownOutcome))
			s.send("B", s.charge)
		}, "A unknown, B ch_2 executed", "A unknown, B in progress"},
		{"dies-with-client", "raise", "the client leaves during the charge", func(s *scene) {
			client, leave := context.WithCancel(s.t.Context())
			gate := make(chan struct{})
			a := s.startOn(client, "A", func(ctx context.Context) ([]byte, error) {
				<-gate
				result, _ := s.charge(ctx) // the provider does not ask who listens
				if ctx.Err() != nil {
					return nil, fmt.Errorf("%w: %w", idempotency.ErrUnknownOutcome, ctx.Err())
				}
				return result, nil
			})
			leave()
			close(gate)
			s.hear(a)
			s.send("B", s.charge)
		}, "A unknown, B ch_2 executed", "A ch_1 executed, B ch_1 replayed"},
		{"dies-with-client", "raise", "the client leaves between charge and record", func(s *scene) {
			client, leave := context.WithCancel(s.t.Context())
			s.hear(s.startOn(client, "A", func(ctx context.Context) ([]byte, error) {
				leave()
				return s.charge(ctx)
			}))
			s.send("B", s.charge)
		}, "A ch_1 executed, B ch_2 executed", "A ch_1 executed, B ch_1 replayed"},
	}
}

func payloadScripts() []zooScript {
	// twice sends a payload, then another under the same key.
	twice := func(first, second string) func(*scene) {
		return func(s *scene) {
			s.payload = first
			s.send("A", s.charge)
			s.payload = second
			s.send("B", s.charge)
		}
	}
	const refused, replayed = "A ch_1 executed, B reused", "A ch_1 executed, B ch_1 replayed"
	body, reordered := `{"amount":100,"currency":"EUR","trace":"t1"}`, `{"trace":"t1","currency":"EUR","amount":100}`
	return []zooScript{
		{"no-fingerprint", "wait", "another amount", twice(body, `{"amount":5,"currency":"EUR"}`), replayed, refused},
		{"hashes-everything", "wait", "another trace id", twice(body, `{"amount":100,"currency":"EUR","trace":"t2"}`), refused, replayed},
		{"hashes-everything", "wait", "another order of members is not its fault", twice(body, reordered), replayed, replayed},
		{"hashes-raw-bytes", "wait", "another order of members", twice(body, reordered), refused, replayed},
		{"in-flight-before-mismatch", "wait", "another amount, in flight and after takeover and at rest", func(s *scene) {
			gate := make(chan struct{})
			a := s.start("A", s.held(gate))
			same := s.payload
			s.payload = `{"amount":5,"currency":"EUR"}`
			s.send("B", s.charge)
			s.endLeases()
			s.send("C", s.charge)
			close(gate)
			s.hear(a)
			s.send("D", s.charge)
			s.payload = same
			s.send("E", s.charge)
		}, "B in progress, C in progress, A ch_1 executed, D reused, E ch_1 replayed",
			"B reused, C reused, A ch_1 executed, D reused, E ch_1 replayed"},
	}
}

func nameScripts() []zooScript {
	// both sends one request and then another, told apart by their names only.
	both := func(op1, key1, op2, key2 string) func(*scene) {
		return func(s *scene) {
			s.operation, s.key = op1, key1
			s.send("A", s.charge)
			s.operation, s.key = op2, key2
			s.send("B", s.charge)
		}
	}
	const met, apart = "A ch_1 executed, B ch_1 replayed", "A ch_1 executed, B ch_2 executed"
	long, overlong := strings.Repeat("k", 250), strings.Repeat("k", idempotency.MaxKey+1)
	return []zooScript{
		{"unscoped", "wait", "one key under two operations", both("order.create", "order-1", "order.cancel", "order-1"), met, apart},
		{"joins-names", "wait", "two pairs that join to one string", both("a", "b:c", "a:b", "c"), met, apart},
		{"joins-names", "wait", "a key is validated as it came", both("a", "", "a", overlong), "A invalid key, B invalid key", "A invalid key, B invalid key"},
		{"long-keys-run-free", "wait", "one key of 256 characters, twice", both("a", overlong, "a", overlong), apart, "A invalid key, B invalid key"},
		{"long-keys-run-free", "wait", "one key of 250 characters, twice", both("a", long, "a", long), met, met},
		{"truncates-keys", "wait", "keys that differ after 250 characters", both("a", long+"-1", "a", long+"-2"), met, apart},
		{"truncates-keys", "wait", "a blank at the cut is lost", both("a", strings.Repeat("k", 63)+" 1", "a", strings.Repeat("k", 63)+" 2"), met, apart},
	}
}

func waiterScripts() []zooScript {
	return []zooScript{
		{"waiter-runs-anyway", "wait", "patience ends before the charge does", func(s *scene) {
			gate := make(chan struct{})
			a := s.start("A", s.held(gate))
			s.send("B", s.charge)
			close(gate)
			s.hear(a)
		}, "B ch_1 executed, A ch_2 executed", "B in progress, A ch_1 executed"},
		{"waiter-runs-anyway", "wait", "who has not waited does not run", func(s *scene) {
			s.send("A", s.chargeThen(idempotency.ErrUnknownOutcome))
			s.send("B", s.charge)
		}, "A unknown, B in progress", "A unknown, B in progress"},
		{"thundering-waiters", "wait", "the owner charges and fails", ownerFails(errBank),
			"A error, W ch_2 executed, W ch_2 waited, 2 charges", "A error, W owner failed, W owner failed, 1 charges"},
		{"thundering-waiters", "wait", "the owner's outcome is unknown", ownerFails(idempotency.ErrUnknownOutcome),
			"A unknown, W ch_2 executed, W ch_2 waited, 2 charges", "A unknown, W in progress, W in progress, 1 charges"},
		{"thundering-waiters", "wait", "a result is shared all the same", ownerFails(nil),
			"A ch_1 executed, W ch_1 waited, W ch_1 waited, 1 charges", "A ch_1 executed, W ch_1 waited, W ch_1 waited, 1 charges"},
	}
}

// ownerFails: two wait while A charges and then ends as told. The new owner's
// charge is held until the other waits again, so who is second is no matter of luck.
func ownerFails(how error) func(*scene) {
	return func(s *scene) {
		gate, next := make(chan struct{}), make(chan struct{})
		a := s.start("A", func(ctx context.Context) ([]byte, error) { <-gate; return s.chargeThen(how)(ctx) })
		w1, w2 := s.start("W", s.held(next)), s.start("W", s.held(next))
		close(gate)
		s.hear(a)
		synctest.Wait()
		close(next)
		answers := []string{<-w1, <-w2}
		slices.Sort(answers)
		s.said = append(s.said, answers...)
		s.say("%d charges", s.charges.Load())
	}
}

var errBank = errors.New("the bank said 500")

// scene is what one script is played on.
type scene struct {
	t       *testing.T
	mem     *memstore.Store
	store   *lossy
	prepare func([]byte, []string) (idempotency.Fingerprint, error)
	c       idempotency.Coordinator

	operation, key, payload string

	charges, orphans atomic.Int64
	said             []string
}

func newScene(t *testing.T, name string) *scene {
	t.Helper()
	e, found := impl.Lookup(name)
	if !found {
		t.Fatalf("no %s in the catalogue", name)
	}
	mem := memstore.New(clock.Real{})
	s := &scene{t: t, mem: mem, store: &lossy{Store: mem}, prepare: e.Prepare,
		operation: "order.create", key: "order-1", payload: `{"amount":100,"currency":"EUR"}`}
	if s.prepare == nil {
		s.prepare = func(payload []byte, fields []string) (idempotency.Fingerprint, error) {
			return idempotency.FingerprintJSON(payload, fields...)
		}
	}
	cfg := reservation.Config{OnOrphan: func(context.Context, idempotency.Orphan) { s.orphans.Add(1) }}
	c, err := e.New(impl.Env{Store: s.store, KV: mem, Clock: clock.Real{}, Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	s.c = c
	return s
}

// lossy is a store that can lose completions on their way.
type lossy struct {
	store.Store
	completionsFail atomic.Bool
}

func (l *lossy) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.To == store.Done && l.completionsFail.Load() {
		return store.Settled{}, fmt.Errorf("connection reset: %w", store.ErrUnavailable)
	}
	return l.Store.Settle(ctx, t)
}

// send sends and waits for the answer; start returns once the call waits or is done.
func (s *scene) send(client string, act idempotency.Action) { s.hear(s.start(client, act)) }

func (s *scene) start(client string, act idempotency.Action) <-chan string {
	return s.startOn(s.t.Context(), client, act)
}

func (s *scene) startOn(ctx context.Context, client string, act idempotency.Action) <-chan string {
	s.t.Helper()
	fp, err := s.prepare([]byte(s.payload), []string{"amount", "currency"})
	if err != nil {
		s.t.Fatal(err)
	}
	req := idempotency.Request{Operation: s.operation, Key: s.key, Fingerprint: fp}
	answer := make(chan string, 1)
	go func() {
		out, err := s.c.Do(ctx, req, act)
		answer <- client + " " + words(out, err)
	}()
	synctest.Wait()
	return answer
}

func (s *scene) hear(answer <-chan string) { s.said = append(s.said, <-answer) }

func (s *scene) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func words(out idempotency.Outcome, err error) string {
	for is, word := range map[error]string{
		idempotency.ErrInProgress: "in progress", idempotency.ErrKeyReused: "reused", idempotency.ErrOwnerFailed: "owner failed",
		idempotency.ErrUnknownOutcome: "unknown", idempotency.ErrInvalidKey: "invalid key", errBank: "error",
	} {
		if errors.Is(err, is) {
			return word
		}
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s", out.Result, out.Source)
}

// charge is a provider that counts: each call charges, and names its charge.
func (s *scene) charge(context.Context) ([]byte, error) {
	return fmt.Appendf(nil, "ch_%d", s.charges.Add(1)), nil
}

func (s *scene) held(gate <-chan struct{}) idempotency.Action {
	return func(ctx context.Context) ([]byte, error) {
		<-gate
		return s.charge(ctx)
	}
}

// chargeThen charges, and then fails as told.
func (s *scene) chargeThen(how error) idempotency.Action {
	return func(ctx context.Context) ([]byte, error) {
		result, err := s.charge(ctx)
		if how != nil {
			return nil, how
		}
		return result, err
	}
}

func (s *scene) endLeases() {
	s.t.Helper()
	if n, err := s.mem.EndLeases(s.t.Context()); n == 0 || err != nil {
		s.t.Fatalf("leases ended: %d, %v", n, err)
	}
}
