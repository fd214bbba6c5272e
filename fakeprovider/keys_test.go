package fakeprovider_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/idemrace/idemrace/fakeprovider"
)

// What a retry with the same key meets, by how the first call ended. A retry
// never makes a second charge; what it is told is what Stripe v1 would tell it.
func TestRetryWithAnHonouredKey(t *testing.T) {
	for _, row := range []struct {
		fail    fakeprovider.Fail
		retry   error
		charges int
		why     string
	}{
		{fakeprovider.NoFailure, nil, 1, "the charge is replayed"},
		{fakeprovider.Decline, fakeprovider.ErrDeclined, 0, "a decline was executed, so it is kept"},
		{fakeprovider.ErrorBefore, fakeprovider.ErrFailed, 0, "500s are kept too: the key is spent"},
		{fakeprovider.TimeoutBefore, nil, 1, "nothing was executed: the retry is the first execution"},
		{fakeprovider.ErrorAfter, fakeprovider.ErrFailed, 1, "500s are kept, also with a charge behind them"},
		{fakeprovider.LoseAnswer, nil, 1, "what was lost is the answer: this is why keys are handed on"},
	} {
		t.Run(string(row.fail), func(t *testing.T) {
			p := newProvider(t, fakeprovider.Options{HonoursKeys: true})
			p.Script(fakeprovider.Behaviour{Fail: row.fail})
			call := fakeprovider.Call{Ref: "r", Amount: 100, Key: "k", Attempt: 1}
			_, _ = p.Charge(patient(t), call) // the table above is about the next one
			call.Attempt = 2                  // a note for histories, not payload
			got, err := p.Charge(patient(t), call)
			if !errors.Is(err, row.retry) || (row.retry == nil) != (err == nil) {
				t.Errorf("retry: %v, want %v (%s)", err, row.retry, row.why)
			}
			if err == nil && got != p.Ledger()[0] {
				t.Errorf("retry answered %+v, ledger %+v (%s)", got, p.Ledger()[0], row.why)
			}
			if n := len(p.Ledger()); n != row.charges {
				t.Errorf("%d charges, want %d (%s)", n, row.charges, row.why)
			}
			if n := p.Counts().Attempts; n != 2 {
				t.Errorf("%d attempts, want 2: a replay is an attempt", n)
			}
		})
	}
}

func TestKeysAreRefused(t *testing.T) {
	first := fakeprovider.Call{Ref: "r", Amount: 100, Key: "k"}
	for _, row := range []struct {
		name   string
		second fakeprovider.Call
		flight bool // the first call is still running
		want   error
		why    string
	}{
		{"other amount", fakeprovider.Call{Ref: "r", Amount: 5, Key: "k"}, false, fakeprovider.ErrKeyReused, "the amount is payload"},
		{"other ref", fakeprovider.Call{Ref: "s", Amount: 100, Key: "k"}, false, fakeprovider.ErrKeyReused, "the ref is payload"},
		{"other effect", fakeprovider.Call{Ref: "r", Effect: "refund", Amount: 100, Key: "k"}, false, fakeprovider.ErrKeyReused, "a refund is no replay of a charge"},
		{"effect spelt out", fakeprovider.Call{Ref: "r", Effect: "charge", Amount: 100, Key: "k"}, false, nil, "the empty effect means charge"},
		{"running", first, true, fakeprovider.ErrKeyInUse, "the outcome is not known yet"},
		{"running, other amount", fakeprovider.Call{Ref: "r", Amount: 5, Key: "k"}, true, fakeprovider.ErrKeyReused, "a mismatch is one in every state"},
		{"other key", fakeprovider.Call{Ref: "r", Amount: 100, Key: "l"}, true, nil, "keys do not know each other"},
		{"no key", fakeprovider.Call{Ref: "r", Amount: 100}, true, nil, "keyless calls are never deduplicated"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newProvider(t, fakeprovider.Options{HonoursKeys: true})
			if row.flight {
				p.HoldNext(1)
			}
			got := charge(t, p, context.Background(), first)
			if _, err := p.Charge(patient(t), row.second); !errors.Is(err, row.want) || (row.want == nil) != (err == nil) {
				t.Errorf("second call: %v, want %v: %s", err, row.want, row.why)
			}
			p.Release(0)
			if a := receive(t, got); a.err != nil {
				t.Errorf("the first call was disturbed: %v", a.err)
			}
			// A refusal is not kept: afterwards the first payload still has its charge.
			if a, err := p.Charge(patient(t), first); err != nil || a.Call != 1 {
				t.Errorf("third call: %+v, %v; want the first call's charge", a, err)
			}
		})
	}
}

func TestKeysMeanNothingUnlessHonoured(t *testing.T) {
	for _, row := range []struct {
		name    string
		honours bool
		key     string
		charges int
	}{
		{"a provider that ignores keys charges each time", false, "k", 2},
		{"a provider that honours keys charges once", true, "k", 1},
		{"without a key it charges each time too", true, "", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newProvider(t, fakeprovider.Options{HonoursKeys: row.honours})
			for range 2 {
				_, err := p.Charge(patient(t), fakeprovider.Call{Ref: "r", Key: row.key})
				must(t, err)
			}
			if n := p.Counts(); n.Charges != row.charges || n.Attempts != 2 {
				t.Errorf("counts %+v, want %d charges of 2 attempts", n, row.charges)
			}
		})
	}
}

// The connection can fail a replay as well: the answer is lost again, and
// nothing new is charged. What belongs to the execution does not apply to it.
func TestReplaysMeetTheConnectionsFaultsOnly(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{HonoursKeys: true})
	p.Script(
		fakeprovider.Behaviour{},
		fakeprovider.Behaviour{Fail: fakeprovider.LoseAnswer},
		fakeprovider.Behaviour{Fail: fakeprovider.ErrorAfter},
		fakeprovider.Behaviour{Fail: fakeprovider.Decline, Hold: true},
	)
	for i, want := range []error{nil, fakeprovider.ErrAnswerLost, nil, nil} {
		if _, err := p.Charge(patient(t), fakeprovider.Call{Ref: "r", Key: "k"}); !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("call %d: %v, want %v", i+1, err, want)
		}
	}
	if n := len(p.Ledger()); n != 1 {
		t.Errorf("%d charges, want 1", n)
	}
}

// A call that hangs has executed: its key answers while the first caller still
// waits in vain.
func TestAHangingCallsKeyIsReplayed(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{HonoursKeys: true})
	p.Script(fakeprovider.Behaviour{Fail: fakeprovider.HangAfter})
	charge(t, p, context.Background(), fakeprovider.Call{Ref: "r", Key: "k"})
	if c, err := p.Charge(patient(t), fakeprovider.Call{Ref: "r", Key: "k"}); err != nil || c.ID != "ch_1" {
		t.Errorf("got %+v, %v; want ch_1", c, err)
	}
}

// Two hundred callers with one key: one charge, and everybody else is told the
// truth: that it runs, or what came of it.
func TestManyCallersWithOneKey(t *testing.T) {
	p := newProvider(t, fakeprovider.Options{HonoursKeys: true})
	p.HoldNext(1)
	first := charge(t, p, context.Background(), fakeprovider.Call{Ref: "r", Key: "k"})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if i == 100 {
				p.Release(0)
			}
			c, err := p.Charge(context.Background(), fakeprovider.Call{Ref: "r", Key: "k"})
			if !errors.Is(err, fakeprovider.ErrKeyInUse) && (err != nil || c.ID != "ch_1") {
				t.Errorf("got %+v, %v", c, err)
			}
		})
	}
	wg.Wait()
	if a := receive(t, first); a.err != nil || len(p.Ledger()) != 1 {
		t.Errorf("first %+v, %d charges; want success and one", a, len(p.Ledger()))
	}
}
