package runner

import (
	"testing"
	"time"

	"github.com/idemrace/idemrace/history"
)

func TestAway(t *testing.T) {
	call := history.Event{Kind: history.StoreCall, Call: 1, Op: history.OpClaim}
	failed := history.Event{Kind: history.StoreReturn, Call: 1, Op: history.OpClaim, Class: history.ClassUnavailable}
	refused := history.Event{Kind: history.StoreReturn, Call: 1, Op: history.OpClaim, Err: "WRONGTYPE"}
	fault := func(op string) history.Event { return history.Event{Kind: history.Fault, Op: op} }
	unprotected := history.Event{Kind: history.Answer, Answer: history.OK, Source: "unprotected"}
	settled := history.Event{Kind: history.Settled}
	for _, row := range []struct {
		events []history.Event
		unseen bool
		want   string
		why    string
	}{
		{[]history.Event{call, failed, settled}, false, storeAway, "nobody took it away"},
		{[]history.Event{call, failed}, false, storeAway, "nor in a cell that was not finished"},
		{[]history.Event{fault("store-down"), call, failed, settled}, false, "", "the scenario did"},
		{[]history.Event{call, failed, fault("store-down"), settled}, false, storeAway, "the scenario did, but later"},
		{[]history.Event{fault("store-lose-reply"), call, failed, settled}, false, "", "any fault of the store's is one"},
		{[]history.Event{fault("worker-kill"), fault("end-leases"), call, failed, settled}, false, storeAway, "these leave the store alone"},
		{[]history.Event{settled, call, failed}, false, "", "the cell's own clearing up"},
		{[]history.Event{settled, call, failed, settled}, false, storeAway, "the last Settled is the end"},
		{[]history.Event{call, refused, settled}, false, "", "the coordinator asked for nonsense"},
		{[]history.Event{unprotected, settled}, true, storeAway, "of a client of its own only the answer tells"},
		{[]history.Event{unprotected, settled}, false, "", "the ports saw no failure: the answer is a lie, to be judged"},
		{[]history.Event{fault("store-down"), unprotected, settled}, true, "", "the scenario did"},
	} {
		if got := away(row.events, row.unseen); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}

func TestStalled(t *testing.T) {
	took := func(op string, d time.Duration) []history.Event {
		return []history.Event{
			{Kind: history.StoreCall, Call: 1, Op: op, At: time.Minute},
			{Kind: history.StoreReturn, Call: 1, Op: op, At: time.Minute + d},
			{Kind: history.Settled, At: time.Hour},
		}
	}
	held := append([]history.Event{{Kind: history.Fault, Op: "store-hold"}}, took(history.OpClaim, time.Hour)...)
	const twoSeconds = "the store took 2s to answer, and nothing in the scenario disturbed it"
	for _, row := range []struct {
		events []history.Event
		want   string
		why    string
	}{
		{took(history.OpClaim, 2*time.Second), twoSeconds, "a claim is one round trip"},
		{took(history.OpRenew, 2*time.Second), twoSeconds, "so is a renewal"},
		{took(history.OpClaim, stalledFor-1), "", "a loaded machine"},
		{took(history.OpAwait, time.Minute), "", "to wait lasts"},
		{took(history.OpKeep, time.Minute), "", "to keep lasts"},
		{held, "", "the scenario held it"},
	} {
		if got := stalled(row.events); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}
