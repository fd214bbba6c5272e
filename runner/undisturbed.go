package runner

import (
	"fmt"
	"strings"
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/results"
)

// storeAway is why a cell could not run whose store was away by itself: an
// operation of the store failed, and no step of the scenario had disturbed it yet.
const storeAway = "the store did not answer, and nothing in the scenario disturbed it"

// away returns storeAway, or "". What was asked of a store that is well, and was
// refused, is the coordinator's doing, and so is what its own deadline cut short.
// Of one with a client of its own only its answers tell.
func away(events []history.Event, unseen bool) string {
	for _, e := range undisturbed(events) {
		failed := e.Kind == history.StoreReturn && e.Class == history.ClassUnavailable
		unprotected := unseen && e.Kind == history.Answer && e.Source == "unprotected"
		if failed || unprotected {
			return storeAway
		}
	}
	return ""
}

// undisturbed is the part of a history in which the store was left alone: until
// the first fault that takes it away, or to the end. What happens after the last
// Settled is the cell's own clearing up.
func undisturbed(events []history.Event) []history.Event {
	end := len(events)
	for i, e := range events {
		if e.Kind == history.Settled {
			end = i
		}
	}
	for i, e := range events[:end] {
		if e.Kind == history.Fault && strings.HasPrefix(e.Op, "store-") {
			return events[:i]
		}
	}
	return events[:end]
}

// stalledFor is how slow an answer of the store's must be to count as a stall.
const stalledFor = time.Second

// storeStalled is for cells of which the watch alone knows: it asks past whatever
// the scenario does.
const storeStalled = "the store did not answer for a second or more, and that was none of the scenario's doing"

// stalled says that the store, left alone, took very long to answer, or "". Leases
// end meanwhile and clients lose patience: if the cell is as expected all the same,
// so much the better; if it is not, nobody knows whose doing that is.
func stalled(events []history.Event) string {
	called := map[int]time.Duration{}
	for _, e := range undisturbed(events) {
		switch {
		case e.Op == history.OpAwait || e.Op == history.OpKeep: // these last
		case e.Kind == history.StoreCall:
			called[e.Call] = e.At
		case e.Kind == history.StoreReturn && e.At-called[e.Call] >= stalledFor:
			return fmt.Sprintf("the store took %v to answer, and nothing in the scenario disturbed it", (e.At - called[e.Call]).Round(100*time.Millisecond))
		}
	}
	return ""
}

// doubtful: a cell that a stall can have made what it is.
func doubtful(c results.Cell) bool { return !c.AsExpected || c.Verdict == string(check.Inconclusive) }
