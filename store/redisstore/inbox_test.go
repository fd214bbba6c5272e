package redisstore

import (
	"slices"
	"testing"

	"github.com/idemrace/idemrace/store"
)

// Notices come on another connection than the claim's reply, so several may be
// there before it has been read. None that concerns the waiter may be lost.
func TestNoticesBeforeTheClaimsReply(t *testing.T) {
	of := func(fence int64) store.Notice {
		return store.Notice{Settled: true, Record: store.Record{Fence: fence}}
	}
	again := store.Notice{} // claim again
	for _, tc := range []struct {
		reason string
		early  []store.Notice
		want   []store.Notice
	}{
		{"nothing came", nil, nil},
		{"an earlier owner's was for others", []store.Notice{of(1)}, nil},
		{"the awaited one counts, also behind an earlier owner's", []store.Notice{of(1), of(2)}, []store.Notice{of(2)}},
		{"the first that counts, as for a waiter who was there: it shares a failure", []store.Notice{of(2), of(3)}, []store.Notice{of(2)}},
		{"a later owner's is as good: the awaited one was lost", []store.Notice{of(1), of(3)}, []store.Notice{of(3)}},
		{"a broken connection may have lost any", []store.Notice{of(1), again}, []store.Notice{again}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			b := newInbox(nil, "p:", "p:inbox:1")
			ticket := b.register("k")
			for _, n := range tc.early {
				b.wake("k", n)
			}
			b.expect(ticket, 2)
			var got []store.Notice
			select {
			case n := <-b.waiter(ticket).notice:
				got = append(got, n)
			default:
			}
			same := func(a, b store.Notice) bool { return a.Settled == b.Settled && a.Record.Fence == b.Record.Fence }
			if !slices.EqualFunc(got, tc.want, same) {
				t.Errorf("notices %+v, want %+v", got, tc.want)
			}
		})
	}
}
