package history_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store"
)

var noTime = cmpopts.IgnoreFields(history.Event{}, "At", "Seq")

func wantEvents(t *testing.T, rec *history.Recorder, want ...history.Event) {
	t.Helper()
	if diff := cmp.Diff(want, rec.History().Events, noTime); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// scripted is a store that answers what it is told to.
type scripted struct {
	claimed store.Claimed
	settled store.Settled
	notice  store.Notice
	cause   error
	err     error
}

func (s scripted) Claim(context.Context, store.Claim) (store.Claimed, error) { return s.claimed, s.err }
func (s scripted) Settle(context.Context, store.Settlement) (store.Settled, error) {
	return s.settled, s.err
}
func (s scripted) Await(context.Context, store.Ticket, time.Duration) (store.Notice, error) {
	return s.notice, s.err
}
func (s scripted) Keep(ctx context.Context, _ store.Renewal) (context.Context, func()) {
	kept, cancel := context.WithCancelCause(ctx)
	cancel(s.cause)
	return kept, func() {}
}

func TestStoreCallsAndReturnsAreRecorded(t *testing.T) {
	rec, ctx := newRecorder(), history.WithAttempt(t.Context(), 3)
	pending := store.Record{Name: "k", State: store.Pending, Token: "t1", Fence: 2, Generation: 1, Fingerprint: "f", LeaseLeft: 5 * time.Second}
	done := pending
	done.State, done.LeaseLeft = store.Done, 0
	s := history.Store(rec, "w1", scripted{claimed: store.Claimed{Record: pending, Ticket: 9}, settled: store.Settled{Record: done}, notice: store.Notice{Settled: true, Record: done}})

	got, err := s.Claim(ctx, store.Claim{Name: "k", Token: "t2", Fingerprint: "f", Lease: 30 * time.Second, Retention: time.Hour})
	if err != nil || got.Ticket != 9 {
		t.Fatalf("the answer was changed: %+v, %v", got, err)
	}
	if n, err := s.Await(ctx, got.Ticket, time.Second); err != nil || !n.Settled {
		t.Fatalf("the notice was changed: %+v, %v", n, err)
	}
	if _, err := s.Settle(ctx, store.Settlement{Name: "k", Token: "t2", To: store.Done, Retention: time.Hour}); err != nil {
		t.Fatal(err)
	}
	at := history.Event{Attempt: 3, Worker: "w1", Name: "k"}
	wantEvents(t, rec,
		with(at, func(e *history.Event) {
			e.Kind, e.Call, e.Op, e.Token, e.Fingerprint, e.LeaseMS, e.TTLMS = history.StoreCall, 1, "claim", "t2", "f", 30000, 3600000
		}),
		with(at, func(e *history.Event) {
			e.Kind, e.Call, e.Op, e.Token, e.Fingerprint, e.LeaseMS = history.StoreReturn, 1, "claim", "t1", "f", 5000
			e.State, e.Fence, e.Generation = "pending", 2, 1
		}),
		with(at, func(e *history.Event) { e.Kind, e.Call, e.Op = history.StoreCall, 2, "await" }),
		with(at, func(e *history.Event) {
			e.Kind, e.Call, e.Op, e.Token, e.Fingerprint, e.N = history.StoreReturn, 2, "await", "t1", "f", 1
			e.State, e.Fence, e.Generation = "done", 2, 1
		}),
		with(at, func(e *history.Event) {
			e.Kind, e.Call, e.Op, e.Token, e.State, e.TTLMS = history.StoreCall, 3, "settle", "t2", "done", 3600000
		}),
		with(at, func(e *history.Event) {
			e.Kind, e.Call, e.Op, e.Token, e.Fingerprint = history.StoreReturn, 3, "settle", "t1", "f"
			e.State, e.Fence, e.Generation = "done", 2, 1
		}),
	)
}

func with(e history.Event, f func(*history.Event)) history.Event { f(&e); return e }

func TestStoreErrorsAreRecordedWithoutARecord(t *testing.T) {
	rec := newRecorder()
	down := fmt.Errorf("%w: refused", store.ErrUnavailable)
	s := history.Store(rec, "w", scripted{err: down, claimed: store.Claimed{Mine: true}})
	if _, err := s.Claim(t.Context(), store.Claim{Name: "k"}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the error was changed: %v", err)
	}
	wantEvents(t, rec,
		history.Event{Kind: history.StoreCall, Call: 1, Op: "claim", Worker: "w", Name: "k"},
		history.Event{Kind: history.StoreReturn, Call: 1, Op: "claim", Worker: "w", Name: "k", Err: down.Error(), Class: history.ClassUnavailable})
}

// What went wrong is told apart: a store that is away, one that was asked for
// nonsense, and a caller who did not wait.
func TestStoreErrorsHaveAClass(t *testing.T) {
	for _, row := range []struct {
		err  error
		want string
		why  string
	}{
		{fmt.Errorf("%w: refused", store.ErrUnavailable), history.ClassUnavailable, "nobody answered"},
		{fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrMisuse), "", "it answered that it cannot do this"},
		{context.Canceled, "", "the caller left"},
		{context.DeadlineExceeded, "", "the caller's own deadline"},
		{nil, "", "no error"},
	} {
		rec := newRecorder()
		_, _ = history.Store(rec, "w", scripted{err: row.err}).Claim(t.Context(), store.Claim{Name: "k"})
		if got := rec.History().Events[1].Class; got != row.want {
			t.Errorf("%s: class %q, want %q", row.why, got, row.want)
		}
	}
}

func TestKeepReturnsOnceWithTheReasonOfALostLease(t *testing.T) {
	for _, row := range []struct {
		cause error
		want  string
		why   string
	}{
		{store.ErrLeaseLost, store.ErrLeaseLost.Error(), "another owner"},
		{store.ErrRunTooLong, store.ErrRunTooLong.Error(), "too long"},
		{context.Canceled, "", "a plain stop is no error"},
	} {
		rec := newRecorder()
		kept, stop := history.Store(rec, "w", scripted{cause: row.cause}).Keep(t.Context(), store.Renewal{Name: "k", Token: "t", Lease: time.Second})
		if !errors.Is(context.Cause(kept), row.cause) {
			t.Errorf("%s: the context was changed", row.why)
		}
		stop()
		stop()
		wantEvents(t, rec,
			history.Event{Kind: history.StoreCall, Call: 1, Op: "keep", Worker: "w", Name: "k", Token: "t", LeaseMS: 1000},
			history.Event{Kind: history.StoreReturn, Call: 1, Op: "keep", Worker: "w", Name: "k", Token: "t", Err: row.want})
	}
}

// Single renewals are the store's own doing, so they are seen inside Keep only.
func TestRenewalsAreRecorded(t *testing.T) {
	down := fmt.Errorf("%w: refused", store.ErrUnavailable)
	for _, row := range []struct {
		kept    bool
		err     error
		applied bool
		said    string
		class   string
		why     string
	}{
		{true, nil, true, "", "", "the lease is longer now"},
		{false, nil, false, "", "", "another owns the claim"},
		{true, down, false, down.Error(), history.ClassUnavailable, "nobody knows"},
	} {
		rec := newRecorder()
		inner := &keeper{}
		held := 0
		outer := store.Renewal{Name: "k", Token: "t", Lease: time.Second}.Within(func(renew func() (bool, error)) (bool, error) {
			held = len(rec.History().Events)
			return renew()
		})
		_, stop := history.Store(rec, "w", inner).Keep(history.WithAttempt(t.Context(), 3), outer)
		kept, err := inner.renewal.Renew(func() (bool, error) { return row.kept, row.err })
		if kept != row.kept || !errors.Is(err, row.err) {
			t.Errorf("%s: the answer was changed: %v, %v", row.why, kept, err)
		}
		if held != 1 {
			t.Errorf("%s: recorded as called before the outer wrapper let it pass: %d events", row.why, held)
		}
		stop()
		wantEvents(t, rec,
			history.Event{Kind: history.StoreCall, Call: 1, Op: "keep", Attempt: 3, Worker: "w", Name: "k", Token: "t", LeaseMS: 1000},
			history.Event{Kind: history.StoreCall, Call: 2, Op: "renew", Attempt: 3, Worker: "w", Name: "k", Token: "t", LeaseMS: 1000},
			history.Event{Kind: history.StoreReturn, Call: 2, Op: "renew", Attempt: 3, Worker: "w", Name: "k", Applied: row.applied, Err: row.said, Class: row.class},
			history.Event{Kind: history.StoreReturn, Call: 1, Op: "keep", Attempt: 3, Worker: "w", Name: "k", Token: "t"})
	}
}

// keeper remembers what it was asked to keep up.
type keeper struct {
	scripted
	renewal store.Renewal
}

func (k *keeper) Keep(ctx context.Context, r store.Renewal) (context.Context, func()) {
	k.renewal = r
	return ctx, func() {}
}

// mapKV is the smallest KV: expiry is not needed here.
type mapKV map[string][]byte

func (m mapKV) Get(_ context.Context, name string) ([]byte, bool, error) {
	v, ok := m[name]
	return v, ok, nil
}
func (m mapKV) Set(_ context.Context, name string, v []byte, _ time.Duration) error {
	m[name] = v
	return nil
}
func (m mapKV) SetNX(_ context.Context, name string, v []byte, _ time.Duration) (bool, error) {
	if _, ok := m[name]; ok {
		return false, nil
	}
	m[name] = v
	return true, nil
}
func (m mapKV) Expire(context.Context, string, time.Duration) error { return errors.New("refused") }
func (m mapKV) Delete(_ context.Context, name string) error         { delete(m, name); return nil }

func TestPlainCommandsAreRecorded(t *testing.T) {
	rec, ctx := newRecorder(), history.WithAttempt(t.Context(), 1)
	kv := history.KV(rec, "w", mapKV{})
	kv.Get(ctx, "k")
	kv.SetNX(ctx, "k", []byte(`{"state":"pending"}`), time.Second)
	kv.SetNX(ctx, "k", []byte(`{"state":"pending"}`), time.Second)
	kv.Set(ctx, "k", []byte(`ch_1`), time.Minute)
	kv.Get(ctx, "k")
	kv.Expire(ctx, "k", time.Second)
	kv.Delete(ctx, "k")
	var got []string
	for _, e := range rec.History().Events {
		if e.Attempt != 1 || e.Worker != "w" || e.Name != "k" {
			t.Errorf("event %d does not say whose it is: %+v", e.Seq, e)
		}
		got = append(got, fmt.Sprintf("%s %d %s %s %d %v %s", e.Kind, e.Call, e.Op, e.State, e.TTLMS, e.Applied, e.Err))
	}
	want := []string{
		"store-call 1 get  0 false ", "store-return 1 get  0 false ",
		"store-call 2 setnx pending 1000 false ", "store-return 2 setnx pending 0 true ",
		"store-call 3 setnx pending 1000 false ", "store-return 3 setnx  0 false ",
		"store-call 4 set done 60000 false ", "store-return 4 set done 0 true ",
		"store-call 5 get  0 false ", "store-return 5 get done 0 true ",
		"store-call 6 expire  1000 false ", "store-return 6 expire  0 false refused",
		"store-call 7 delete  0 false ", "store-return 7 delete  0 true ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestActionsAreRecordedWithTheirClass(t *testing.T) {
	for _, row := range []struct {
		err   error
		class string
	}{
		{nil, history.ClassOK},
		{fmt.Errorf("%w: declined", idempotency.ErrNoEffect), history.ClassNoEffect},
		{fmt.Errorf("%w: timed out", idempotency.ErrUnknownOutcome), history.ClassUnknown},
		{errors.New("boom"), history.ClassError},
	} {
		rec := newRecorder()
		act := history.Action(rec, "w", "r1", func(context.Context) ([]byte, error) { return []byte("ch_1"), row.err })
		ctx := idempotency.WithProviderKey(history.WithAttempt(t.Context(), 2), "pk")
		result, err := act(ctx)
		if string(result) != "ch_1" || err != row.err {
			t.Errorf("%s: the answer was changed: %q, %v", row.class, result, err)
		}
		e := history.Event{Kind: history.Run, Attempt: 2, Worker: "w", Ref: "r1", ProviderKey: "pk"}
		end := with(e, func(e *history.Event) { e.Kind, e.Class = history.Ran, row.class })
		if row.err != nil {
			end.Err = row.err.Error()
		}
		wantEvents(t, rec, e, end)
	}
}

func TestTheProvidersOwnViewIsRecorded(t *testing.T) {
	rec := newRecorder()
	observe := history.Provider(rec)
	call := fakeprovider.Call{Ref: "r", Amount: 100, Key: "pk", Attempt: 4}
	charge := fakeprovider.Charge{ID: "ch_1", Ref: "r", Effect: "charge", Amount: 100}
	observe(fakeprovider.Event{Phase: fakeprovider.Arrived, Number: 1, Call: call})
	observe(fakeprovider.Event{Phase: fakeprovider.Committed, Number: 1, Call: call, Charge: charge})
	observe(fakeprovider.Event{Phase: fakeprovider.Replied, Number: 1, Call: call, Err: fakeprovider.ErrAnswerLost})
	observe(fakeprovider.Event{Phase: fakeprovider.Voided, Charge: charge})
	observe(fakeprovider.Event{Phase: "of a later version"})
	e := history.Event{Call: 1, Attempt: 4, Ref: "r", Effect: "charge", Amount: 100, ProviderKey: "pk"}
	wantEvents(t, rec,
		with(e, func(e *history.Event) { e.Kind = history.Arrive }),
		with(e, func(e *history.Event) { e.Kind, e.Charge = history.Commit, "ch_1" }),
		with(e, func(e *history.Event) { e.Kind, e.Err = history.Reply, fakeprovider.ErrAnswerLost.Error() }),
		history.Event{Kind: history.Void, Ref: "r", Effect: "charge", Amount: 100, Charge: "ch_1"})
}
