package plain_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
)

var errDown = fmt.Errorf("connection refused: %w", store.ErrUnavailable)

// disturbed is a key-value store whose commands are counted, and can be met by
// what before and after do.
type disturbed struct {
	*memstore.Store
	commands      atomic.Int64
	before, after func(op string) error // nil: nothing; an error replaces the reply
}

func pass[T any](d *disturbed, op string, command func() (T, error)) (T, error) {
	d.commands.Add(1)
	var zero T
	if d.before != nil {
		if err := d.before(op); err != nil {
			return zero, err
		}
	}
	v, err := command()
	if d.after != nil {
		if lost := d.after(op); lost != nil {
			return zero, lost
		}
	}
	return v, err
}

func (d *disturbed) Get(ctx context.Context, name string) (value []byte, found bool, err error) {
	value, err = pass(d, "get", func() (v []byte, err error) {
		v, found, err = d.Store.Get(ctx, name)
		return v, err
	})
	return value, found && err == nil, err
}

func (d *disturbed) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	_, err := pass(d, "set", func() (any, error) { return nil, d.Store.Set(ctx, name, value, ttl) })
	return err
}

func (d *disturbed) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error) {
	return pass(d, "setnx", func() (bool, error) { return d.Store.SetNX(ctx, name, value, ttl) })
}

func (d *disturbed) Delete(ctx context.Context, name string) error {
	_, err := pass(d, "delete", func() (any, error) { return nil, d.Store.Delete(ctx, name) })
	return err
}

// once lets one event of the kind fail.
func once(op string) func(string) error {
	failed := false
	return func(got string) error {
		if got != op || failed {
			return nil
		}
		failed = true
		return errDown
	}
}

func always(string) error { return errDown }

type setting struct {
	t       *testing.T
	kv      *disturbed
	orphans []idempotency.Orphan
	charges atomic.Int64
}

// inBubble runs a test in a bubble of synctest: time passes only when every
// goroutine is blocked.
func inBubble(t *testing.T, test func(t *testing.T, s *setting)) {
	synctest.Test(t, func(t *testing.T) {
		test(t, &setting{t: t, kv: &disturbed{Store: memstore.New(clock.Real{})}})
	})
}

func (s *setting) config() plain.Config {
	return plain.Config{Lease: 30 * time.Second, Retention: time.Hour, CompleteFor: time.Second, MaxResult: 1 << 10,
		OnOrphan: func(_ context.Context, o idempotency.Orphan) { s.orphans = append(s.orphans, o) }}
}

func (s *setting) coordinator(cfg plain.Config) *plain.Coordinator {
	s.t.Helper()
	c, err := plain.New(s.kv, clock.Real{}, cfg, plain.Parts{})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// charge names its charge: ch_1, ch_2, …
func (s *setting) charge(context.Context) ([]byte, error) {
	return fmt.Appendf(nil, "ch_%d", s.charges.Add(1)), nil
}

func (s *setting) held(gate <-chan struct{}) idempotency.Action {
	return func(ctx context.Context) ([]byte, error) {
		<-gate
		return s.charge(ctx)
	}
}

func (s *setting) charged(want int64) {
	s.t.Helper()
	if got := s.charges.Load(); got != want {
		s.t.Errorf("%d charges, want %d", got, want)
	}
}

// states are those of the records that stand.
func (s *setting) states() string {
	s.t.Helper()
	records, err := s.kv.Records(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var states string
	for _, r := range records {
		states += fmt.Sprintf("%s for %v; ", r.State, r.ExpiresIn)
	}
	return states
}

func (s *setting) endLeases() {
	s.t.Helper()
	if n, err := s.kv.EndLeases(s.t.Context()); n == 0 || err != nil {
		s.t.Fatalf("leases ended: %d, %v", n, err)
	}
}

func request(t *testing.T, amount int) idempotency.Request {
	t.Helper()
	f, err := idempotency.FingerprintFields(map[string]any{"amount": amount})
	if err != nil {
		t.Fatal(err)
	}
	return idempotency.Request{Operation: "order.create", Key: "order-42", Fingerprint: f}
}

type answer struct {
	idempotency.Outcome
	err error
}

func (s *setting) do(c idempotency.Coordinator, amount int, act idempotency.Action) answer {
	out, err := c.Do(s.t.Context(), request(s.t, amount), act)
	return answer{out, err}
}

// start calls Do beside the test, and returns once that call is blocked or done.
func (s *setting) start(c idempotency.Coordinator, amount int, act idempotency.Action) <-chan answer {
	done := make(chan answer, 1)
	go func() { done <- s.do(c, amount, act) }()
	synctest.Wait()
	return done
}

func (a answer) is(t *testing.T, result string, source idempotency.Source, stored bool) {
	t.Helper()
	if a.err != nil || string(a.Result) != result || a.Source != source || a.Stored != stored {
		t.Errorf("got %q from %s, stored %v, error %v; want %q from %s, stored %v", a.Result, a.Source, a.Stored, a.err, result, source, stored)
	}
}

func (a answer) fails(t *testing.T, want error) {
	t.Helper()
	if !errors.Is(a.err, want) {
		t.Errorf("got %q, error %v; want error %v", a.Result, a.err, want)
	}
}

func TestOneRunsAndTheOthersAreToldSo(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		c, gate := s.coordinator(s.config()), make(chan struct{})
		first := s.start(c, 100, s.held(gate))
		if got := s.states(); got != "pending for 30s; " {
			t.Errorf("while it runs: %s", got)
		}
		s.do(c, 100, s.charge).fails(t, idempotency.ErrInProgress)
		s.do(c, 5, s.charge).fails(t, idempotency.ErrKeyReused)
		close(gate)
		(<-first).is(t, "ch_1", idempotency.Executed, true)
		if got := s.states(); got != "done for 1h0m0s; " {
			t.Errorf("afterwards: %s", got)
		}
		s.do(c, 100, s.charge).is(t, "ch_1", idempotency.Replayed, true)
		s.do(c, 5, s.charge).fails(t, idempotency.ErrKeyReused)
		s.charged(1)
	})
}

func TestTheActionGetsKeyAndDeadlineAndOutlivesItsClient(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		c := s.coordinator(s.config())
		ctx, hangUp := context.WithCancel(t.Context())
		_, err := c.Do(ctx, request(t, 100), func(ctx context.Context) ([]byte, error) {
			hangUp()
			if deadline, _ := ctx.Deadline(); ctx.Err() != nil || time.Until(deadline) != 29*time.Second {
				t.Errorf("error %v, %v to run", ctx.Err(), time.Until(deadline))
			}
			if got, want := idempotency.ProviderKey(ctx), request(t, 100).ProviderKey(1); got != want {
				t.Errorf("provider key %q, want %q", got, want)
			}
			return s.charge(ctx)
		})
		if err != nil {
			t.Error(err)
		}
		s.do(c, 100, s.charge).is(t, "ch_1", idempotency.Replayed, true)
		if _, err := c.Do(ctx, request(t, 1), s.charge); !errors.Is(err, context.Canceled) {
			t.Errorf("who has left before: %v", err)
		}
	})
}

func TestFailures(t *testing.T) {
	errCard := errors.New("timed out")
	for _, c := range []struct {
		err    error
		left   string
		reason string
	}{
		{errCard, "", "errors are not kept"},
		{fmt.Errorf("%w: declined", idempotency.ErrNoEffect), "", "nor are declines"},
		{fmt.Errorf("%w: no answer", idempotency.ErrUnknownOutcome), "pending for 30s; ", "who does not know must not let another charge"},
	} {
		inBubble(t, func(t *testing.T, s *setting) {
			fail := func(context.Context) ([]byte, error) { return nil, c.err }
			s.do(s.coordinator(s.config()), 100, fail).fails(t, c.err)
			if got := s.states(); got != c.left {
				t.Errorf("%v (%s): left %q, want %q", c.err, c.reason, got, c.left)
			}
		})
	}
}

func TestAResultOverTheLimitIsRemembered(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		c := s.coordinator(s.config())
		large := func(ctx context.Context) ([]byte, error) {
			_, _ = s.charge(ctx)
			return make([]byte, 1<<10+1), nil
		}
		if got := s.do(c, 100, large); got.err != nil || got.Stored {
			t.Errorf("stored %v, error %v", got.Stored, got.err)
		}
		s.do(c, 100, s.charge).fails(t, idempotency.ErrResultTooLarge)
		s.charged(1)
	})
}

// The second try of a claim finds the first one's value, and knows it by its token.
func TestAClaimWhoseReplyIsLostIsKnownAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		s.kv.after = once("setnx")
		s.do(s.coordinator(s.config()), 100, s.charge).is(t, "ch_1", idempotency.Executed, true)
	})
}

func TestACompletionIsTriedAgain(t *testing.T) {
	for reason, hook := range map[string]func(*disturbed){
		"not applied":     func(d *disturbed) { d.before = once("set") },
		"reply lost":      func(d *disturbed) { d.after = once("set") },
		"owner not known": func(d *disturbed) { d.before = once("get") },
	} {
		inBubble(t, func(t *testing.T, s *setting) {
			hook(s.kv)
			c := s.coordinator(s.config())
			s.do(c, 100, s.charge).is(t, "ch_1", idempotency.Executed, true)
			s.do(c, 100, s.charge).is(t, "ch_1", idempotency.Replayed, true)
			if t.Failed() {
				t.Log(reason)
			}
		})
	}
}

// If the result cannot be stored, the claim stays: deleted, it would let the next
// retry charge at once.
func TestALostCompletionLeavesTheClaim(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		c, began := s.coordinator(s.config()), time.Now()
		s.kv.before = func(op string) error {
			if op == "set" {
				return errDown
			}
			return nil
		}
		s.do(c, 100, s.charge).is(t, "ch_1", idempotency.Executed, false)
		if took := time.Since(began); took == 0 || took > time.Second {
			t.Errorf("tried for %v, want some time and no more than CompleteFor", took)
		}
		s.do(c, 100, s.charge).fails(t, idempotency.ErrInProgress)
		s.charged(1)
	})
}

// A store that is down is asked three times, as the atomic port does by itself.
func TestAClaimIsTriedThreeTimes(t *testing.T) {
	for failures, want := range map[int64]idempotency.Source{2: idempotency.Executed, 3: idempotency.Unprotected} {
		inBubble(t, func(t *testing.T, s *setting) {
			s.kv.before = func(string) error {
				if s.kv.commands.Load() <= failures {
					return errDown
				}
				return nil
			}
			s.do(s.coordinator(s.config()), 100, s.charge).is(t, "ch_1", want, true)
		})
	}
}

func TestStoreDown(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		s.kv.before = always
		s.do(s.coordinator(s.config()), 100, s.charge).is(t, "ch_1", idempotency.Unprotected, false)

		closed := s.config()
		closed.FailClosed = true
		refused := s.do(s.coordinator(closed), 100, s.charge)
		refused.fails(t, idempotency.ErrStoreUnavailable)
		refused.fails(t, errDown)
		s.charged(1)
	})
}

// Who has seen something under the key never runs, whatever the policy.
func TestWhoHasSeenAnotherNeverRuns(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		c, gate := s.coordinator(s.config()), make(chan struct{})
		first := s.start(c, 100, s.held(gate))
		s.kv.before = func(op string) error {
			if op == "get" {
				return errDown
			}
			return nil
		}
		s.do(c, 100, s.charge).fails(t, idempotency.ErrStoreUnavailable)
		s.kv.before = nil
		close(gate)
		(<-first).is(t, "ch_1", idempotency.Executed, true)
	})
}

func TestWhatCannotBeReadNeverRuns(t *testing.T) {
	for reason, value := range map[string]string{
		"no JSON":                 `nonsense`,
		"a state not known":       `{"state":"failed","fingerprint":""}`,
		"a version not known yet": `{"state":"done","fingerprint":"v99:abc"}`,
	} {
		inBubble(t, func(t *testing.T, s *setting) {
			if err := s.kv.Store.Set(t.Context(), request(t, 100).StoredName(), []byte(value), time.Hour); err != nil {
				t.Fatal(err)
			}
			s.do(s.coordinator(s.config()), 100, s.charge).fails(t, idempotency.ErrStoreUnavailable)
			s.charged(0)
			if t.Failed() {
				t.Log(reason)
			}
		})
	}
}

// The overtaken owner writes nothing, answers with what stands, and reports its charge.
func TestAnOvertakenOwnerReportsItsCharge(t *testing.T) {
	for _, second := range []string{"runs", "has completed"} {
		inBubble(t, func(t *testing.T, s *setting) {
			c := s.coordinator(s.config())
			gateA, gateB := make(chan struct{}), make(chan struct{})
			a := s.start(c, 100, s.held(gateA))
			s.endLeases()
			b := s.start(c, 100, s.held(gateB))
			if second == "runs" {
				close(gateA)
				(<-a).fails(t, idempotency.ErrInProgress)
				close(gateB)
				(<-b).is(t, "ch_2", idempotency.Executed, true)
			} else {
				close(gateB)
				(<-b).is(t, "ch_1", idempotency.Executed, true)
				close(gateA)
				(<-a).is(t, "ch_1", idempotency.Superseded, true)
			}
			if len(s.orphans) != 1 || string(s.orphans[0].Result) == "" {
				t.Errorf("the second %s: orphans %+v, want one", second, s.orphans)
			}
		})
	}
}

// The claim's end forgets the fingerprint, so another payload gets in. The first
// one's charge is then the only one of its request: a success, and no orphan.
func TestOvertakenByAnotherPayload(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		c, gate := s.coordinator(s.config()), make(chan struct{})
		a := s.start(c, 100, s.held(gate))
		s.endLeases()
		s.do(c, 5, s.charge).is(t, "ch_1", idempotency.Executed, true)
		close(gate)
		(<-a).is(t, "ch_2", idempotency.Executed, false)
		if len(s.orphans) != 0 {
			t.Errorf("orphans %+v", s.orphans)
		}
	})
}

func TestALateFailureFreesNobodyElsesClaim(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		c := s.coordinator(s.config())
		gateA, gateB := make(chan struct{}), make(chan struct{})
		a := s.start(c, 100, func(context.Context) ([]byte, error) {
			<-gateA
			return nil, idempotency.ErrNoEffect
		})
		s.endLeases()
		b := s.start(c, 100, s.held(gateB))
		close(gateA)
		(<-a).fails(t, idempotency.ErrInProgress) // its own "no effect" is not the last word
		s.do(c, 100, s.charge).fails(t, idempotency.ErrInProgress)
		close(gateB)
		(<-b).is(t, "ch_1", idempotency.Executed, true)
	})
}

// What plain commands cannot keep: an owner that is stopped between its GET and its
// SET overwrites the result of who took over. If this test fails, the package
// comment promises too little.
func TestBetweenLookingAndWritingAnythingCanHappen(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		c := s.coordinator(s.config())
		goOn, looked := make(chan struct{}), false
		s.kv.after = func(op string) error {
			if op == "get" && !looked {
				looked = true
				<-goOn
			}
			return nil
		}
		a := s.start(c, 100, s.charge)
		s.endLeases()
		s.do(c, 100, s.charge).is(t, "ch_2", idempotency.Executed, true)
		close(goOn)
		(<-a).is(t, "ch_1", idempotency.Executed, true)
		s.do(c, 100, s.charge).is(t, "ch_1", idempotency.Replayed, true)
		if len(s.orphans) != 0 {
			t.Errorf("orphans %+v: it has noticed, so say so", s.orphans)
		}
	})
}

// A claim that goes between the SET NX that lost and the GET is claimed again.
func TestAClaimThatGoesWhileLookedAt(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		name := request(t, 100).StoredName()
		if err := s.kv.Store.Set(t.Context(), name, []byte(`{"state":"pending"}`), time.Hour); err != nil {
			t.Fatal(err)
		}
		s.kv.before = func(op string) error {
			if op == "get" {
				return s.kv.Store.Delete(t.Context(), name)
			}
			return nil
		}
		s.do(s.coordinator(s.config()), 100, s.charge).is(t, "ch_1", idempotency.Executed, true)
	})
}

func TestCommandBudget(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		c := s.coordinator(s.config())
		s.do(c, 100, s.charge)
		if n := s.kv.commands.Swap(0); n != 3 {
			t.Errorf("fresh: %d commands, want setnx, get, set", n)
		}
		s.do(c, 100, s.charge)
		if n := s.kv.commands.Swap(0); n != 2 {
			t.Errorf("replay: %d commands, want setnx, get", n)
		}
	})
}

func TestRefusals(t *testing.T) {
	inBubble(t, func(t *testing.T, s *setting) {
		req := request(t, 100)
		req.Key = ""
		if _, err := s.coordinator(s.config()).Do(t.Context(), req, s.charge); !errors.Is(err, idempotency.ErrInvalidKey) || s.kv.commands.Load() != 0 {
			t.Errorf("empty key: %v after %d commands", err, s.kv.commands.Load())
		}
		for reason, spoil := range map[string]func(*plain.Config){
			"no lease":                     func(c *plain.Config) { c.Lease = 0 },
			"retention below lease":        func(c *plain.Config) { c.Retention = time.Second },
			"no time left to run":          func(c *plain.Config) { c.CompleteFor = c.Lease },
			"negative time to complete":    func(c *plain.Config) { c.CompleteFor = -1 },
			"no limit: nothing could stay": func(c *plain.Config) { c.MaxResult = 0 },
		} {
			cfg := s.config()
			spoil(&cfg)
			if _, err := plain.New(s.kv, clock.Real{}, cfg, plain.Parts{}); err == nil {
				t.Errorf("%s: accepted", reason)
			}
		}
		if _, err := plain.New(nil, clock.Real{}, s.config(), plain.Parts{}); err == nil {
			t.Error("no store: accepted")
		}
		if _, err := plain.New(s.kv, nil, s.config(), plain.Parts{}); err == nil {
			t.Error("no clock: accepted")
		}
	})
}
