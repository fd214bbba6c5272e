package check

import (
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/store"
)

func recordLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "record/final-is-final",
			Predicate: "A final record never leaves before its retention ends: it is not claimed, replaced or deleted.",
			Why:       "The proof that the order was paid is gone, and the next retry pays again.",
			Applies:   inspected}, finalIsFinal),
		law(Invariant{ID: "record/retained",
			Predicate: "No second execution before retention ends; and the store's expiry is at least that.",
			Why:       "Tomorrow's rerun of the batch pays every order again.",
			Applies:   hasAnswer(history.OK)}, retained),
	}
}

// finalIsFinal judges an operation only if it was called after the settlement
// had returned.
func finalIsFinal(v *view) *Violation {
	finals := map[string]*op{}
	for _, e := range v.events {
		o := v.byOp[e.Call]
		switch {
		case e.Kind == history.RecordSeen && e.State != string(store.Done):
			if final := finals[e.Name]; final != nil && v.lives.one(final.call, e) {
				return violation([]history.Event{final.ret, e}, "%s had left a final record %s, but %s it was seen as %s",
					v.who(final.attempt), at(final.ret), at(e), quoted(e.State))
			}
		case o == nil || e.Kind != history.StoreReturn || e.Seq != o.ret.Seq:
		default:
			final := finals[o.call.Name]
			if final != nil && o.call.Seq > final.ret.Seq && undoes(final, o) && v.lives.one(final.call, o.ret) {
				return violation([]history.Event{final.ret, o.call, o.ret}, "%s had left a final record %s, but %s %s",
					v.who(final.attempt), at(final.ret), undone(v, o), at(o.ret))
			}
			if o.finalises() && (final == nil || !v.lives.one(final.call, o.call)) {
				finals[o.call.Name] = o
			}
		}
	}
	return nil
}

// undoes: the operation cannot have been applied while the final stood.
func undoes(final, o *op) bool {
	if o.ret.Err != "" {
		return false
	}
	switch o.call.Op {
	case history.OpClaim:
		return o.ret.Mine
	case history.OpSettle:
		return o.ret.Applied && (o.call.Token != final.call.Token || o.call.State != final.call.State)
	case history.OpSetNX, history.OpDelete:
		return o.ret.Applied
	case history.OpSet:
		return o.attempt != final.attempt || o.call.State != final.call.State
	}
	return false
}

func undone(v *view, o *op) string {
	switch o.call.Op {
	case history.OpClaim, history.OpSetNX:
		return v.who(o.attempt) + " claimed the key anew"
	case history.OpDelete:
		return v.who(o.attempt) + " deleted it"
	}
	return v.who(o.attempt) + " replaced it"
}

func retained(v *view) *Violation {
	if bad := v.secondExecution(); bad != nil || v.header.RetentionMS == 0 {
		return bad
	}
	for _, o := range v.ops {
		if o.finalises() && o.call.TTLMS > 0 && o.call.TTLMS < v.header.RetentionMS-retentionSlack(v.header.RetentionMS) {
			return violation([]history.Event{o.call, o.ret}, "%s stored its result %s for %s, and the retention is %s",
				v.who(o.attempt), at(o.ret), span(o.call.TTLMS), span(v.header.RetentionMS))
		}
	}
	return v.shortLived()
}

// retentionSlack is for rounding: a tenth, and no more than a second.
func retentionSlack(retention int64) int64 { return min(retention/10, time.Second.Milliseconds()) }

// secondExecution finds an attempt that was sent after a success of the same
// request had been answered, and that executed all the same.
func (v *view) secondExecution() *Violation {
	for _, k := range v.keys {
		for _, span := range k.spans(v) {
			first := map[string]*attempt{} // ref → earliest safe success
			for _, a := range span {
				if a.ok() && v.clean(a) && (first[a.send.Ref] == nil || a.answer.Seq < first[a.send.Ref].answer.Seq) {
					first[a.send.Ref] = a
				}
			}
			for _, a := range span {
				done, acted := first[a.send.Ref], a.executed()
				if done == nil || acted.Seq == 0 || a.send.Seq < done.answer.Seq || a.storeFailed() || v.storeBlind(a) {
					continue
				}
				return violation([]history.Event{done.answer, a.send, acted},
					"%s %s, but %s, sent %s with the same key and payload, executed again %s, before any retention had ended",
					v.told(done), at(done.answer), v.who(a), at(a.send), at(acted))
			}
		}
	}
	return nil
}

// shortLived compares the expiry of finals as the Inspector saw them. When a
// record was settled is not known to the millisecond, so the whole history's
// time is granted; after an expiry set by command nothing is compared.
func (v *view) shortLived() *Violation {
	for _, r := range v.records {
		if r.State != string(store.Done) || r.TTLMS < 0 || v.expirySet(r) {
			continue
		}
		least := v.header.RetentionMS - r.At.Milliseconds() - retentionSlack(v.header.RetentionMS)
		if r.TTLMS < least {
			return violation([]history.Event{r}, "the final record %s, seen %s, expires in %s, and the retention is %s",
				quoted(r.Name), at(r), span(r.TTLMS), span(v.header.RetentionMS))
		}
	}
	return nil
}

func (v *view) expirySet(before history.Event) bool {
	for _, f := range v.faults {
		if f.Op == "set-expiry" && f.Seq < before.Seq {
			return true
		}
	}
	return false
}
