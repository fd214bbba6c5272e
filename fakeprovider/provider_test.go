package fakeprovider_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/fakeprovider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for tests that would otherwise hang when they fail. No test that
// passes waits for it.
const patience = 20 * time.Second

func newProvider(t *testing.T, opts fakeprovider.Options) *fakeprovider.Provider {
	t.Helper()
	p := fakeprovider.New(opts)
	t.Cleanup(p.Close)
	return p
}

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answer is what a caller got.
type answer struct {
	charge fakeprovider.Charge
	err    error
}

// charge calls in the background. The caller has arrived when it returns.
func charge(t *testing.T, p *fakeprovider.Provider, ctx context.Context, c fakeprovider.Call) <-chan answer {
	t.Helper()
	before := p.Counts().Attempts
	got := make(chan answer, 1)
	go func() {
		ch, err := p.Charge(ctx, c)
		got <- answer{ch, err}
	}()
	must(t, p.AwaitArrivals(patient(t), before+1))
	return got
}

func receive(t *testing.T, from <-chan answer) answer {
	t.Helper()
	select {
	case a := <-from:
		return a
	case <-patient(t).Done():
		t.Fatal("no answer")
		return answer{}
	}
}

// watch collects events as one line each: "phase number charge error".
type watch struct {
	mu     sync.Mutex
	events []fakeprovider.Event
}

func (w *watch) observe(e fakeprovider.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func (w *watch) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, e := range w.events {
		out = append(out, fmt.Sprintf("%s %d %s %v", e.Phase, e.Number, e.Charge.ID, e.Err))
	}
	return out
}

func TestEachFailureChargesOrNot(t *testing.T) {
	for _, row := range []struct {
		fail    fakeprovider.Fail
		err     error
		charges int
		why     string
	}{
		{fakeprovider.NoFailure, nil, 1, "the ordinary case"},
		{fakeprovider.Decline, fakeprovider.ErrDeclined, 0, "a decline is the one failure that callers may trust to have had no effect"},
		{fakeprovider.ErrorBefore, fakeprovider.ErrFailed, 0, "an error that happens to have no effect"},
		{fakeprovider.TimeoutBefore, fakeprovider.ErrTimeout, 0, "the article's table 3: a retry has to be able to succeed"},
		{fakeprovider.ErrorAfter, fakeprovider.ErrFailed, 1, "the same error as before the charge: the caller cannot tell them apart"},
		{fakeprovider.LoseAnswer, fakeprovider.ErrAnswerLost, 1, "charged, and the caller does not know"},
	} {
		t.Run(string(row.fail), func(t *testing.T) {
			w := &watch{}
			p := newProvider(t, fakeprovider.Options{Default: fakeprovider.Behaviour{Fail: row.fail}, Observe: w.observe})
			got, err := p.Charge(patient(t), fakeprovider.Call{Ref: "r", Amount: 100, Key: "k", Attempt: 3})
			if !errors.Is(err, row.err) || (row.err == nil) != (err == nil) {
				t.Errorf("error %v, want %v (%s)", err, row.err, row.why)
			}
			want := fakeprovider.Charge{ID: "ch_1", Ref: "r", Effect: "charge", Amount: 100, Key: "k", Call: 1}
			if row.err != nil {
				want = fakeprovider.Charge{}
			}
			if got != want {
				t.Errorf("answer %+v, want %+v (%s)", got, want, row.why)
			}
			if n := len(p.Ledger()); n != row.charges {
				t.Errorf("%d charges, want %d (%s)", n, row.charges, row.why)
			}
			counts := fakeprovider.Counts{Attempts: 1, Charges: row.charges}
			events := []string{"arrived 1  <nil>"}
			if row.charges > 0 {
				events = append(events, "committed 1 ch_1 <nil>")
			}
			if row.err != nil {
				counts.Failures = 1
			}
			events = append(events, fmt.Sprintf("replied 1 %s %v", want.ID, row.err))
			if diff := cmp.Diff(counts, p.Counts()); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(events, w.lines()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// A charge is attributed by what the payload says, so all of it has to arrive.
func TestEffectIsNamed(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{})
	got, err := p.Charge(patient(t), fakeprovider.Call{Ref: "r", Effect: "refund", Amount: 7})
	must(t, err)
	if got.Effect != "refund" {
		t.Errorf("effect %q, want refund: effects are counted per kind", got.Effect)
	}
}

func TestScriptIsTakenInOrderOfArrival(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{Default: fakeprovider.Behaviour{Fail: fakeprovider.Decline}})
	p.Script(fakeprovider.Behaviour{Fail: fakeprovider.LoseAnswer})
	p.Script(fakeprovider.Behaviour{}, fakeprovider.Behaviour{Fail: fakeprovider.TimeoutBefore})
	want := []error{fakeprovider.ErrAnswerLost, nil, fakeprovider.ErrTimeout, fakeprovider.ErrDeclined, fakeprovider.ErrDeclined}
	for i, w := range want {
		if _, err := p.Charge(patient(t), fakeprovider.Call{Ref: "r"}); !errors.Is(err, w) {
			t.Errorf("call %d: %v, want %v", i+1, err, w)
		}
	}
	p.SetDefault(fakeprovider.Behaviour{})
	if _, err := p.Charge(patient(t), fakeprovider.Call{Ref: "r"}); err != nil {
		t.Errorf("after SetDefault: %v, want success", err)
	}
}

// The article's race: two calls overlap, and the second commits first or second
// as the test says, never as the scheduler does.
func TestHeldCallsCommitInTheOrderOfRelease(t *testing.T) {
	for _, row := range []struct {
		name    string
		release func(*fakeprovider.Provider)
		ledger  []string
		why     string
	}{
		{"all", func(p *fakeprovider.Provider) { p.Release(0) }, []string{"a", "b", "c"}, "all go in order of arrival"},
		{"oldest", func(p *fakeprovider.Provider) { p.Release(2) }, []string{"a", "b"}, "only the oldest go"},
		{"by number", func(p *fakeprovider.Provider) { p.ReleaseCall(3); p.ReleaseCall(1); p.ReleaseCall(9) }, []string{"c", "a"}, "a younger call overtakes"},
		{"more than held", func(p *fakeprovider.Provider) { p.Release(100) }, []string{"a", "b", "c"}, "asking for too many is no error"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newProvider(t, fakeprovider.Options{})
			p.HoldNext(3)
			for _, ref := range []string{"a", "b", "c"} {
				charge(t, p, context.Background(), fakeprovider.Call{Ref: ref})
			}
			must(t, p.AwaitHeld(patient(t), 3))
			if n := len(p.Ledger()); n != 0 {
				t.Fatalf("%d charges while all calls are held before the commit", n)
			}
			row.release(p)
			// No waiting here: Release returns when the calls have committed.
			var refs []string
			for i, c := range p.Ledger() {
				refs = append(refs, c.Ref)
				if id := fmt.Sprintf("ch_%d", i+1); c.ID != id {
					t.Errorf("line %d has id %s, want %s", i+1, c.ID, id)
				}
			}
			if !slices.Equal(refs, row.ledger) {
				t.Errorf("ledger %v, want %v: %s", refs, row.ledger, row.why)
			}
			if want := 3 - len(row.ledger); p.Open() != want {
				t.Errorf("%d calls open, want %d", p.Open(), want)
			}
		})
	}
}

func TestReleaseSaysWhatItReleased(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{})
	p.HoldNext(5)
	p.HoldNext(2) // replaces the five: the third call must not be held
	for range 3 {
		charge(t, p, context.Background(), fakeprovider.Call{Ref: "r"})
	}
	if p.ReleaseCall(3) {
		t.Error("call 3 was never held")
	}
	if !p.ReleaseCall(2) {
		t.Error("call 2 was held")
	}
	if p.ReleaseCall(2) {
		t.Error("call 2 was released already")
	}
	if n := p.Release(0); n != 1 {
		t.Errorf("released %d, want the one that is left", n)
	}
	if n := p.Release(0); n != 0 {
		t.Errorf("released %d of none", n)
	}
}

// Held on both sides of the commit, a call needs two releases: between them the
// money is gone and nobody has been told.
func TestHoldBeforeAndAfterTheCommit(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{Default: fakeprovider.Behaviour{Hold: true, HoldAfter: true}})
	got := charge(t, p, context.Background(), fakeprovider.Call{Ref: "r"})
	for step, charges := range []int{0, 1} {
		if n := len(p.Ledger()); n != charges {
			t.Fatalf("step %d: %d charges, want %d", step, n, charges)
		}
		if n := p.Release(0); n != 1 {
			t.Fatalf("step %d: released %d, want 1", step, n)
		}
	}
	if a := receive(t, got); a.err != nil || a.charge.ID != "ch_1" {
		t.Errorf("got %+v", a)
	}
}

var errKilled = errors.New("worker killed")

// A killed worker's charge still commits: this is what makes a takeover after
// its lease a double charge.
func TestTheCallGoesOnWhenItsCallerLeaves(t *testing.T) {
	w := &watch{}
	p := newProvider(t, fakeprovider.Options{Observe: w.observe})
	p.HoldNext(1)
	ctx, kill := context.WithCancelCause(context.Background())
	got := charge(t, p, ctx, fakeprovider.Call{Ref: "r"})
	kill(errKilled)
	if a := receive(t, got); !errors.Is(a.err, errKilled) || a.charge.ID != "" {
		t.Errorf("the caller got %+v, want the cause only", a)
	}
	if p.Open() != 1 {
		t.Errorf("%d calls open, want the one whose caller has left", p.Open())
	}
	p.Release(1)
	must(t, p.AwaitQuiet(patient(t)))
	want := []string{"arrived 1  <nil>", "committed 1 ch_1 <nil>", "replied 1 ch_1 <nil>"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestACallerThatIsGoneBeforeNeverArrives(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{})
	ctx, kill := context.WithCancelCause(context.Background())
	kill(errKilled)
	if _, err := p.Charge(ctx, fakeprovider.Call{Ref: "r"}); !errors.Is(err, errKilled) {
		t.Errorf("error %v, want the cause", err)
	}
	if c := p.Counts(); c != (fakeprovider.Counts{}) {
		t.Errorf("counts %+v: a request that was never sent must not count", c)
	}
}

// HangAfter is the silent provider: charged, no answer, until the caller gives up.
func TestHangLastsUntilTheCallerLeaves(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{Default: fakeprovider.Behaviour{Fail: fakeprovider.HangAfter}})
	ctx, giveUp := context.WithCancelCause(context.Background())
	got := charge(t, p, ctx, fakeprovider.Call{Ref: "r"})
	must(t, p.AwaitCharges(patient(t), 1))
	if p.Open() != 1 || len(got) != 0 {
		t.Fatalf("open %d, answers %d: want a call that is open and silent", p.Open(), len(got))
	}
	giveUp(errKilled)
	if a := receive(t, got); !errors.Is(a.err, errKilled) {
		t.Errorf("got %+v, want the cause", a)
	}
	if p.Open() != 0 || p.Counts().Failures != 1 {
		t.Errorf("open %d, counts %+v: want it over, and a failure", p.Open(), p.Counts())
	}
}

// A caller that leaves before the hang begins must not leave a call open for ever.
func TestHangIsOverAtOnceWhenTheCallerHasLeft(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{Default: fakeprovider.Behaviour{Hold: true, Fail: fakeprovider.HangAfter}})
	ctx, kill := context.WithCancel(context.Background())
	got := charge(t, p, ctx, fakeprovider.Call{Ref: "r"})
	kill()
	receive(t, got)
	p.Release(1)
	if p.Open() != 0 || len(p.Ledger()) != 1 {
		t.Errorf("open %d, charges %d: want none and one", p.Open(), len(p.Ledger()))
	}
}

func TestVoid(t *testing.T) {
	w := &watch{}
	p := newProvider(t, fakeprovider.Options{Observe: w.observe})
	for range 2 {
		_, err := p.Charge(patient(t), fakeprovider.Call{Ref: "r"})
		must(t, err)
	}
	if _, err := p.Void("ch_3"); !errors.Is(err, fakeprovider.ErrNoCharge) {
		t.Errorf("voiding what is not there: %v", err)
	}
	for range 2 { // the second changes nothing: clearing up may be retried
		c, err := p.Void("ch_1")
		if err != nil || !c.Voided || c.ID != "ch_1" {
			t.Errorf("Void: %+v, %v", c, err)
		}
	}
	if l := p.Ledger(); !l[0].Voided || l[1].Voided {
		t.Errorf("ledger %+v: want the first voided and the second not", l)
	}
	if c := p.Counts(); c.Voids != 1 || c.Charges != 2 {
		t.Errorf("counts %+v: a void is one, and takes no charge out of the count", c)
	}
	if lines := w.lines(); lines[len(lines)-1] != "voided 0 ch_1 <nil>" || len(lines) != 7 {
		t.Errorf("events %q: want six of the calls and one void", lines)
	}
}

func TestLedgerIsACopy(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{})
	_, err := p.Charge(patient(t), fakeprovider.Call{Ref: "r"})
	must(t, err)
	p.Ledger()[0].Ref = "forged"
	if p.Ledger()[0].Ref != "r" {
		t.Error("a reader changed the ground truth")
	}
}

func TestCloseEndsHeldCallsWithoutCharging(t *testing.T) {
	w := &watch{}
	p := fakeprovider.New(fakeprovider.Options{Observe: w.observe})
	p.Script(
		fakeprovider.Behaviour{Hold: true},
		fakeprovider.Behaviour{HoldAfter: true},
		fakeprovider.Behaviour{Before: time.Hour},
		fakeprovider.Behaviour{Fail: fakeprovider.HangAfter},
	)
	var got []<-chan answer
	for range 4 {
		got = append(got, charge(t, p, context.Background(), fakeprovider.Call{Ref: "r"}))
	}
	p.Close()
	p.Close() // idempotent
	for i, g := range got {
		if a := receive(t, g); !errors.Is(a.err, fakeprovider.ErrClosed) {
			t.Errorf("call %d got %+v, want ErrClosed", i+1, a)
		}
	}
	if n := len(p.Ledger()); n != 2 {
		t.Errorf("%d charges, want the two that had committed before", n)
	}
	if n := p.Release(0); n != 0 || p.Open() != 0 {
		t.Errorf("released %d, open %d after Close", n, p.Open())
	}
	if _, err := p.Charge(patient(t), fakeprovider.Call{Ref: "r"}); !errors.Is(err, fakeprovider.ErrClosed) {
		t.Errorf("Charge after Close: %v", err)
	}
	if _, err := p.Void("ch_1"); !errors.Is(err, fakeprovider.ErrClosed) {
		t.Errorf("Void after Close: %v", err)
	}
	lines := w.lines()
	if last := lines[len(lines)-4:]; !slices.IsSorted(last) || p.Counts().Failures != 4 {
		t.Errorf("last events %q, counts %+v: want four failures in order", last, p.Counts())
	}
}

func TestAwaits(t *testing.T) {
	type await func(context.Context, *fakeprovider.Provider) error
	arrivals := func(ctx context.Context, p *fakeprovider.Provider) error { return p.AwaitArrivals(ctx, 2) }
	charges := func(ctx context.Context, p *fakeprovider.Provider) error { return p.AwaitCharges(ctx, 2) }
	held := func(ctx context.Context, p *fakeprovider.Provider) error { return p.AwaitHeld(ctx, 2) }
	quiet := func(ctx context.Context, p *fakeprovider.Provider) error { return p.AwaitQuiet(ctx) }
	for _, row := range []struct {
		name string
		wait await
		then func(*testing.T, *fakeprovider.Provider)
		why  string
	}{
		{"arrivals", arrivals, func(t *testing.T, p *fakeprovider.Provider) {
			charge(t, p, context.Background(), fakeprovider.Call{Ref: "b"})
		}, "a held call has arrived"},
		{"charges", charges, func(t *testing.T, p *fakeprovider.Provider) {
			charge(t, p, context.Background(), fakeprovider.Call{Ref: "b"})
			p.Release(0)
		}, "both have committed"},
		{"held", held, func(t *testing.T, p *fakeprovider.Provider) {
			charge(t, p, context.Background(), fakeprovider.Call{Ref: "b"})
		}, "both are held at one time"},
		{"quiet", quiet, func(t *testing.T, p *fakeprovider.Provider) { p.Release(0) }, "the one open call is over"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newProvider(t, fakeprovider.Options{})
			p.HoldNext(2)
			charge(t, p, context.Background(), fakeprovider.Call{Ref: "a"})

			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(errKilled)
			if err := row.wait(ctx, p); !errors.Is(err, errKilled) {
				t.Errorf("not there yet, context over: %v, want its cause", err)
			}
			got := make(chan error, 1)
			go func() { got <- row.wait(context.Background(), p) }()
			row.then(t, p)
			select {
			case err := <-got:
				if err != nil {
					t.Errorf("%v (%s)", err, row.why)
				}
			case <-patient(t).Done():
				t.Errorf("never woke: %s", row.why)
			}
		})
	}
}

// Who waits for what can no longer come is told so.
func TestAwaitEndsWithClose(t *testing.T) {
	p := fakeprovider.New(fakeprovider.Options{})
	got := make(chan error, 1)
	go func() { got <- p.AwaitArrivals(context.Background(), 1) }()
	p.Close()
	if err := <-got; !errors.Is(err, fakeprovider.ErrClosed) {
		t.Errorf("AwaitArrivals: %v, want ErrClosed", err)
	}
	if err := p.AwaitQuiet(patient(t)); err != nil {
		t.Errorf("AwaitQuiet: %v: a closed provider is quiet", err)
	}
}

// Two hundred callers at once: the ledger has each of them once, its ids are in
// order, and the observer saw the same order.
func TestManyCallers(t *testing.T) {
	const callers = 200
	w := &watch{}
	p := newProvider(t, fakeprovider.Options{Clock: clock.Real{}, Observe: w.observe})
	p.HoldNext(callers / 4)
	p.Script(slices.Repeat([]fakeprovider.Behaviour{{After: time.Microsecond, Before: time.Microsecond}}, callers/2)...)
	var wg sync.WaitGroup
	ids := make([]string, callers)
	for i := range callers {
		wg.Go(func() {
			c, err := p.Charge(context.Background(), fakeprovider.Call{Ref: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
			}
			ids[i] = c.ID
		})
	}
	must(t, p.AwaitHeld(patient(t), callers/4))
	p.Release(0)
	must(t, p.AwaitCharges(patient(t), callers))
	wg.Wait()
	must(t, p.AwaitQuiet(patient(t)))

	var committed []string
	for _, e := range w.events {
		if e.Phase == fakeprovider.Committed {
			committed = append(committed, e.Charge.ID)
		}
	}
	for i, c := range p.Ledger() {
		if want := fmt.Sprintf("ch_%d", i+1); c.ID != want || committed[i] != want {
			t.Fatalf("line %d: ledger %s, observer %s, want %s", i+1, c.ID, committed[i], want)
		}
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != callers {
		t.Errorf("%d different charges were answered, want %d", n, callers)
	}
}
