package runner

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/fakeprovider/providerhttp"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/target/effects"
	"github.com/idemrace/idemrace/target/httptarget"
)

// The till honours keys as fakeprovider does: one charge for a key, another payload and
// a call under way are refused, and so on until the key has not come for long.
func TestKeyringIsTheProvidersIdempotency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		till := &till{takes: time.Second, ledger: load.NewLedger(nil)}
		d := &loadDesk{till: till, keys: newKeyring(), running: t.Context()}
		call := func(entry int64, key string) (string, error) {
			ch, err := counter{d, entry}.Charge(t.Context(), fakeprovider.Call{Amount: entry, Key: key})
			return ch.ID, err
		}
		var first sync.WaitGroup
		first.Go(func() {
			if id, err := call(2, "k"); id != "ch_1" || err != nil {
				t.Errorf("the first: %s, %v", id, err)
			}
		})
		synctest.Wait()
		if _, err := call(2, "k"); !errors.Is(err, fakeprovider.ErrKeyInUse) {
			t.Errorf("while it runs: %v", err)
		}
		first.Wait()
		if id, err := call(2, "k"); id != "ch_1" || err != nil {
			t.Errorf("again: %s, %v", id, err)
		}
		if _, err := call(4, "k"); !errors.Is(err, fakeprovider.ErrKeyReused) {
			t.Errorf("another payload: %v", err)
		}
		if id, _ := call(2, ""); id != "ch_2" {
			t.Errorf("without a key: %s", id)
		}
		for range 5 { // it comes again and again, and is not forgotten
			time.Sleep(keysFor * 3 / 4)
			if id, _ := call(2, "k"); id != "ch_1" {
				t.Errorf("later: %s", id)
			}
		}
		time.Sleep(3 * keysFor)
		_, _ = call(6, "other")
		time.Sleep(2 * keysFor)
		_, _ = call(8, "another")
		if n := len(d.keys.now) + len(d.keys.old); n > 2 {
			t.Errorf("%d keys are kept", n)
		}
		till.failing.Add(1)
		if _, err := call(10, "declined"); !errors.Is(err, fakeprovider.ErrDeclined) {
			t.Errorf("declined: %v", err)
		}
		if got := till.ledger.Totals(); got.Charges != 4 || got.Doubles != 1 {
			t.Errorf("the ledger: %+v", got)
		}
	})
}

// A call is the load's only if its ref or amount is one that was sent.
func TestLoadDeskKnowsWhatWasSent(t *testing.T) {
	metadata, err := effects.Attribute("metadata:ref")
	if err != nil {
		t.Fatal(err)
	}
	amounts, _ := effects.Attribute("")
	names := httptarget.NewNames("run", "3", nil)
	d := &loadDesk{till: &till{ledger: load.NewLedger(nil)}, names: names, base: 1000, running: t.Context()}
	d.highest.Store(40)
	by := func(ref string) providerhttp.Sighting {
		return providerhttp.Sighting{Effect: "charge", Metadata: map[string]string{"ref": ref}}
	}
	for _, row := range []struct {
		why string
		a   effects.Attribution
		s   providerhttp.Sighting
		ok  bool
	}{
		{"sent", metadata, by(names.Ref("34")), true}, {"within more", metadata, by("order " + names.Ref("34") + ", thank you"), true},
		{"not sent", metadata, by(names.Ref("41")), false}, {"another cell's", metadata, by(httptarget.NewNames("run", "2", nil).Ref("34")), false},
		{"no number", metadata, by(names.Ref("r1")), false},
		{"sent", amounts, providerhttp.Sighting{Amount: 1034}, true}, {"not sent", amounts, providerhttp.Sighting{Amount: 1041}, false},
		{"a cell's", amounts, providerhttp.Sighting{Amount: 1000}, false},
	} {
		seat, ok := d.take(row.a, row.s)
		if ok != row.ok {
			t.Errorf("%s: %v", row.why, ok)
		}
		if ok {
			if _, err := seat.Provider.Charge(t.Context(), seat.Call); err != nil {
				t.Error(err)
			}
		}
	}
	if got := d.till.ledger.Of(34); got != 3 {
		t.Errorf("ref 34 was charged %d times", got)
	}
	if _, ok := (*loadDesk)(nil).take(metadata, by("x")); ok {
		t.Error("without a load nothing is its")
	}
}

// An interrupted load waits a while for calls that are under way, and then ends them:
// they charge nothing. One that was not interrupted leaves nothing behind.
func TestTheTillEndsWithTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		till := &till{takes: time.Hour, ledger: load.NewLedger(nil), cut: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		stop := till.endWith(ctx, time.Second)
		cancel()
		began := time.Now()
		if _, err := till.charge(t.Context(), 2); !errors.Is(err, errCut) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		stop()
		if got := till.ledger.Totals(); got != (load.Totals{}) {
			t.Errorf("%+v", got)
		}

		till.cut = make(chan struct{})
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		till.endWith(ctx, time.Second)()
		if _, err := till.charge(t.Context(), 2); err != nil {
			t.Error(err)
		}
	})
}
