package memstore_test

import (
	"testing"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/memstore"
)

// standing is a clock that goes only when it is told to.
type standing struct {
	clock.Real
	now time.Time
}

func (c *standing) Now() time.Time { return c.now }

// Leases and retentions end by the store's own clock, to the nanosecond.
func TestEndsByItsClock(t *testing.T) {
	clk := &standing{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s := memstore.New(clk)
	claim := func(token string) store.Claimed {
		t.Helper()
		got, err := s.Claim(t.Context(), store.Claim{
			Name: "k", Token: token, Fingerprint: "v1:a", Fingerprints: []string{"v1:a"},
			Lease: time.Minute, Retention: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, row := range []struct {
		token      string
		after      time.Duration // since the row before
		mine, took bool
		fence      int64
		why        string
	}{
		{"a", 0, true, false, 1, "a new record"},
		{"b", time.Minute - 1, false, false, 1, "the lease has not ended"},
		{"b", 1, true, true, 2, "the lease has ended"},
		{"c", time.Hour - 1, true, true, 3, "the record outlived its lease"},
		{"d", time.Hour, true, false, 1, "the retention has ended: a new record"},
	} {
		clk.now = clk.now.Add(row.after)
		got := claim(row.token)
		if got.Mine != row.mine || got.Took != row.took || got.Record.Fence != row.fence {
			t.Errorf("%s after %v: %+v: %s", row.token, row.after, got, row.why)
		}
	}
}
