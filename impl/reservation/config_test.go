package reservation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store/memstore"
)

func TestConfigRefusals(t *testing.T) {
	cases := []struct {
		why   string
		cfg   reservation.Config
		field string
	}{
		{"forgotten before the last retry", reservation.Config{Retention: reservation.MinRetention - 1}, "Retention"},
		{"no renewal can end before it begins", reservation.Config{MaxRun: -1}, "MaxRun"},
		{"a policy that nobody knows", reservation.Config{Takeover: "ask"}, "Takeover"},
		{"a key freed by guess, with nobody to ask", reservation.Config{Takeover: reservation.TakeoverRefuses, OnError: reservation.Release}, "OnError"},
		{"a record outlives its lease", reservation.Config{Lease: 2 * time.Hour, Retention: time.Hour}, "Retention"},
		{"negative", reservation.Config{Retention: -time.Hour}, "Retention"},
		{"negative", reservation.Config{Lease: -1}, "Lease"},
		{"negative", reservation.Config{WaitLimit: -1}, "WaitLimit"},
		{"negative", reservation.Config{CompleteFor: -1}, "CompleteFor"},
		{"no time left to run", reservation.Config{Lease: time.Second, CompleteFor: time.Second}, "CompleteFor"},
		{"negative", reservation.Config{MaxResult: -1}, "MaxResult"},
		{"no such policy", reservation.Config{StoreDown: "ajar"}, "StoreDown"},
		{"no such policy", reservation.Config{OnError: "cache"}, "OnError"},
	}
	for _, tc := range cases {
		for name, newOne := range both {
			_, err := newOne(memstore.New(clock.Real{}), clock.Real{}, tc.cfg)
			var refused *reservation.ConfigError
			if !errors.As(err, &refused) || refused.Field != tc.field {
				t.Errorf("%s, %s: %s: got %v, want a refusal that names it", name, tc.field, tc.why, err)
			}
		}
	}
}

func TestConfigDefaults(t *testing.T) {
	got, err := reservation.Config{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if got.Lease != reservation.DefaultLease || got.Retention != reservation.DefaultRetention || got.WaitLimit != reservation.DefaultWaitLimit ||
		got.CompleteFor != reservation.DefaultCompleteFor || got.MaxResult != reservation.DefaultMaxResult {
		t.Errorf("%+v", got)
	}
	if got.StoreDown != reservation.FailClosed || got.OnError != reservation.MarkUnknown {
		t.Errorf("nobody chose: want the cautious policies, got %q and %q", got.StoreDown, got.OnError)
	}
	if a, b := got.NewToken(), got.NewToken(); a == b || len(a) < 22 {
		t.Errorf("tokens %q, %q", a, b)
	}
	short, err := reservation.Config{Lease: 400 * time.Millisecond}.WithDefaults()
	if err != nil || short.CompleteFor != 100*time.Millisecond {
		t.Errorf("a short lease: CompleteFor %v, %v; want a quarter of it", short.CompleteFor, err)
	}
}

func TestConfigPoliciesSetAreKept(t *testing.T) {
	set := reservation.Config{StoreDown: reservation.FailClosed, OnError: reservation.MarkUnknown}
	if got := set.WithPolicies(reservation.FailOpen, reservation.Release); got.StoreDown != set.StoreDown || got.OnError != set.OnError {
		t.Errorf("%q, %q", got.StoreDown, got.OnError)
	}
}

func TestNewRefusesWhatIsMissing(t *testing.T) {
	mem := memstore.New(clock.Real{})
	if _, err := reservation.New(nil, clock.Real{}, reservation.DuplicatesWait, reservation.Config{}); err == nil {
		t.Error("no store: accepted")
	}
	if _, err := reservation.New(mem, nil, reservation.DuplicatesWait, reservation.Config{}); err == nil {
		t.Error("no clock: accepted")
	}
	if _, err := reservation.New(mem, clock.Real{}, "queue", reservation.Config{}); err == nil {
		t.Error("no such way with duplicates: accepted")
	}
}
