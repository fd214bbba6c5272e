package reservation

import (
	"sync/atomic"

	"github.com/idemrace/idemrace/idempotency"
)

// Stats counts what a coordinator has done since it was made.
type Stats struct {
	Executed    int64 // actions started as owner
	Unprotected int64 // actions started with the store down
	Replayed    int64 // answers that were there already
	Waited      int64 // answers that another call made while this one waited
	Superseded  int64 // answers of owners that were overtaken, and found a final
	Refused     int64 // calls that ended in an error without running the action
	Failed      int64 // calls that ran the action and ended in an error
	StoreErrors int64 // failed calls of the store or the offloader, each try counted
	NotStored   int64 // successes that could not be written down: a retry after the lease may run again, or find the outcome unknown
	TooLarge    int64 // results that were not kept for their size
	LeasesLost  int64 // settlements that found the claim to be another's
	CutOff      int64 // actions that failed after their context had ended: lease lost, or MaxRun passed
	Unresolved  int64 // takeovers that ran nothing, since a former owner may have charged
	Orphans     int64 // effects that no answer names; see Config.OnOrphan
}

// Stats returns a snapshot. Its fields are read one after the other.
func (c *Coordinator) Stats() Stats {
	n := &c.counts
	return Stats{
		Executed:    n.executed.Load(),
		Unprotected: n.unprotected.Load(),
		Replayed:    n.replayed.Load(),
		Waited:      n.waited.Load(),
		Superseded:  n.superseded.Load(),
		Refused:     n.refused.Load(),
		Failed:      n.failed.Load(),
		StoreErrors: n.storeErrors.Load(),
		NotStored:   n.notStored.Load(),
		TooLarge:    n.tooLarge.Load(),
		LeasesLost:  n.leasesLost.Load(),
		CutOff:      n.cutOff.Load(),
		Unresolved:  n.unresolved.Load(),
		Orphans:     n.orphans.Load(),
	}
}

type counters struct {
	executed, unprotected            atomic.Int64
	replayed, waited, superseded     atomic.Int64
	refused, failed                  atomic.Int64
	storeErrors, notStored, tooLarge atomic.Int64
	leasesLost, orphans              atomic.Int64
	cutOff, unresolved               atomic.Int64
}

// answered counts the end of one call. Runs were counted when they started.
func (n *counters) answered(out idempotency.Outcome, err error, ran bool) {
	switch {
	case err != nil && ran:
		n.failed.Add(1)
	case err != nil:
		n.refused.Add(1)
	case out.Source == idempotency.Replayed:
		n.replayed.Add(1)
	case out.Source == idempotency.Waited:
		n.waited.Add(1)
	case out.Source == idempotency.Superseded:
		n.superseded.Add(1)
	}
}
