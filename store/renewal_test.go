package store_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/idemrace/idemrace/store"
)

// Whoever wraps a Store last is called first, and sees what the others returned.
func TestRenewalsPassThroughAllWhoWrap(t *testing.T) {
	var order []string
	by := func(name string) func(func() (bool, error)) (bool, error) {
		return func(renew func() (bool, error)) (bool, error) {
			order = append(order, name)
			return renew()
		}
	}
	kept, err := store.Renewal{}.Within(by("outer")).Within(by("inner")).Renew(func() (bool, error) {
		order = append(order, "store")
		return true, nil
	})
	if !kept || err != nil || !slices.Equal(order, []string{"outer", "inner", "store"}) {
		t.Errorf("%v, %v, by way of %v", kept, err, order)
	}
}

func TestARenewalCanBeStoppedOnItsWay(t *testing.T) {
	stopped := errors.New("stopped")
	r := store.Renewal{}.Within(func(func() (bool, error)) (bool, error) { return false, stopped })
	if kept, err := r.Renew(func() (bool, error) { t.Error("made"); return true, nil }); kept || !errors.Is(err, stopped) {
		t.Errorf("%v, %v", kept, err)
	}
	if kept, err := (store.Renewal{}).Renew(func() (bool, error) { return true, nil }); !kept || err != nil {
		t.Errorf("nobody in between: %v, %v", kept, err)
	}
}
