package check

import (
	"slices"

	"github.com/idemrace/idemrace/history"
)

// The declared policies, as Header.Policy spells them.
const (
	policyOpen   = "open"
	policyClosed = "closed"
)

func outageLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "store/outage-policy",
			Predicate: "While the store is down the declared policy holds: closed, nothing runs; open, the attempt is answered all the same, and says that it was unprotected. Afterwards nothing is stuck.",
			Why:       "Whoever chose between lost orders and double ones gets the other.",
			Applies:   anyOutage}, outagePolicy),
	}
}

func anyOutage(h *history.History) bool {
	if h.Header.Policy != policyOpen && h.Header.Policy != policyClosed {
		return false
	}
	return slices.ContainsFunc(h.Events, func(e history.Event) bool {
		return storeFault(e) || e.Kind == history.StoreReturn && e.Err != "" && (&op{call: e, ret: e}).failed()
	})
}

func outagePolicy(v *view) *Violation {
	for _, a := range v.attempts {
		if a.send.Seq == 0 {
			continue
		}
		failed := a.blind()
		if failed.Seq == 0 {
			failed = v.inOutage(a)
		}
		var bad *Violation
		switch {
		case failed.Seq == 0:
			bad = v.stuck(a)
		case v.header.Policy == policyClosed:
			bad = v.closed(a, failed)
		case v.header.Policy == policyOpen:
			bad = v.open(a, failed)
		}
		if bad != nil {
			return bad
		}
	}
	return nil
}

// blind: the attempt asked the store, and up to its execution, or its answer, no
// question was answered. It returns the first failure. An operation that never
// came back is none: its worker may be dead.
func (a *attempt) blind() history.Event {
	acted := a.executed()
	var first history.Event
	for _, o := range a.ops {
		if acted.Seq > 0 && o.call.Seq > acted.Seq {
			break
		}
		if !o.asks() || o.ret.Seq == 0 {
			continue
		}
		if o.ret.Err == "" {
			return history.Event{}
		}
		first = earlier(first, o.ret)
	}
	return first
}

// inOutage is the same for a target whose store nobody sees: the whole attempt
// lies between a store-down and the next store-up.
func (v *view) inOutage(a *attempt) history.Event {
	if v.header.Inspected {
		return history.Event{}
	}
	var down history.Event
	for _, f := range v.faults {
		switch {
		case f.Seq > a.send.Seq && f.Seq < v.end(a).Seq && f.Op == "store-up":
			return history.Event{}
		case f.Seq > a.send.Seq:
		case f.Op == "store-down":
			down = f
		case f.Op == "store-up" || f.Op == "store-restart":
			down = history.Event{}
		}
	}
	return down
}

func (v *view) closed(a *attempt, failed history.Event) *Violation {
	if acted := a.executed(); acted.Seq > failed.Seq {
		return violation([]history.Event{failed, acted, a.answer}, "the policy is to fail closed, and the store did not answer %s %s, yet its execution began %s",
			v.who(a), at(failed), at(acted))
	}
	if a.answered(history.OK, history.InProgress, history.Declined, history.Error, history.OwnerFailed, history.KeyReused) && a.executed().Seq == 0 {
		return violation([]history.Event{failed, a.answer}, "the policy is to fail closed, and the store did not answer %s %s, yet %s %s instead of being told that the store is unavailable",
			v.who(a), at(failed), v.told(a), at(a.answer))
	}
	return nil
}

func (v *view) open(a *attempt, failed history.Event) *Violation {
	evidence := []history.Event{failed, a.answer}
	switch {
	case a.answered(history.StoreUnavailable, history.InProgress, history.Error) && a.executed().Seq == 0:
		return violation(evidence, "the policy is to fail open, and the store did not answer %s %s, yet nothing was executed: %s %s",
			v.who(a), at(failed), v.told(a), at(a.answer))
	case a.ok() && v.header.Marker && marked(a.answer.Source) && a.executed().Seq == 0:
		return violation(evidence, "the store did not answer %s %s, yet %s as %s %s: the result comes from somewhere that other workers do not see",
			v.who(a), at(failed), v.told(a), a.answer.Source, at(a.answer))
	}
	return nil
}

// stuck: told that the store is unavailable after it had come back, though it
// answered the attempt each time.
func (v *view) stuck(a *attempt) *Violation {
	if !a.answered(history.StoreUnavailable) || len(a.ops) == 0 || slices.ContainsFunc(a.ops, func(o *op) bool { return o.ret.Err != "" || o.ret.Seq == 0 }) {
		return nil
	}
	var up history.Event
	for _, f := range v.faults {
		if f.Op == "store-up" && f.Seq < a.send.Seq {
			up = f
		}
	}
	if up.Seq == 0 {
		return nil
	}
	return violation([]history.Event{up, a.send, a.answer}, "the store was up again %s and answered %s, sent %s, each time, yet %s %s",
		at(up), v.who(a), at(a.send), v.told(a), at(a.answer))
}
