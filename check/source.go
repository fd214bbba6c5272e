package check

import (
	"slices"

	"github.com/idemrace/idemrace/history"
)

// sourceTrue holds each answer against what its own attempt was seen to do.
func sourceTrue(v *view) *Violation {
	trouble := v.storeTrouble()
	for _, a := range v.attempts {
		if a.send.Seq == 0 || a.answer.Seq == 0 || v.deadWorker(a) {
			continue
		}
		if why, proof := v.untrue(a, trouble); why != "" {
			return violation([]history.Event{a.send, proof, a.answer}, "%s as %s %s, but %s", v.told(a), sourceWords(a), at(a.answer), why)
		}
	}
	return nil
}

// untrue says what is wrong with where an answer says it comes from, "" if nothing
// is known to be.
func (v *view) untrue(a *attempt, trouble history.Event) (why string, proof history.Event) {
	switch source := a.answer.Source; {
	case source == "unprotected" || a.answered(history.StoreUnavailable):
		if v.seesOps() && (trouble.Seq == 0 || trouble.Seq > a.answer.Seq) && !v.metStrange(a) {
			return "the store had failed nobody until then", history.Event{}
		}
	case !a.ok():
	case v.disowned(a):
		return "it had reported that very charge as an orphan, to be voided", v.charges[a.answer.Charge].commit
	case source == "executed" && a.executed().Seq == 0 && !v.anonymous(a):
		return "nothing was executed for it", history.Event{}
	case source == "replayed" || source == "waited":
		if c := v.charges[a.answer.Charge]; c != nil && c.attempt() == a {
			return "its own call had made that charge " + at(c.commit), c.commit
		}
	}
	return "", history.Event{}
}

// disowned: the attempt has reported as an orphan the charge that it names. That
// another attempt names it is nothing: a provider that honours keys gives both
// executions one charge, and only the later one knows.
func (v *view) disowned(a *attempt) bool {
	return v.charges[a.answer.Charge] != nil && v.orphans[a.answer.Charge] && slices.ContainsFunc(v.events, func(e history.Event) bool {
		return e.Kind == history.Orphan && e.Attempt == a.n && e.Charge == a.answer.Charge
	})
}

// storeTrouble is the first sign that the store may not serve: a fault of the
// scenario's, or an operation that failed.
func (v *view) storeTrouble() history.Event {
	var first history.Event
	for _, f := range v.faults {
		if storeFault(f) {
			first = earlier(first, f)
		}
	}
	for _, o := range v.ops {
		switch {
		case o.ret.Err != "":
			first = earlier(first, o.ret)
		case o.failed():
			first = earlier(first, o.call)
		}
	}
	return first
}

// seesOps: the history knows whose store operations are whose. A target with a
// client of its own shows none.
func (v *view) seesOps() bool {
	return slices.ContainsFunc(v.ops, func(o *op) bool { return o.attempt != nil })
}

// metStrange: the attempt found a record whose fingerprint nobody here has sent, or
// which does not say. One written by a version to come is unavailable, and right so.
func (v *view) metStrange(a *attempt) bool {
	return slices.ContainsFunc(a.ops, func(o *op) bool {
		found := o.call.Op == history.OpClaim && !o.ret.Mine || o.call.Op == history.OpGet && o.ret.Applied
		return found && o.ret.Err == "" && !slices.ContainsFunc(v.attempts, func(x *attempt) bool {
			return x.send.Fingerprint != "" && x.send.Fingerprint == o.ret.Fingerprint
		})
	})
}

// anonymous: something ran for the attempt's ref, and nobody knows for whom.
func (v *view) anonymous(a *attempt) bool {
	l := v.logical(a.send.Ref)
	return slices.ContainsFunc(l.runs, func(r *run) bool { return r.run.Attempt == 0 }) ||
		slices.ContainsFunc(l.calls, func(c *call) bool { return c.attempt == nil })
}

func sourceWords(a *attempt) string {
	if a.answer.Source != "" {
		return quoted(a.answer.Source)
	}
	return "the store's failure"
}
