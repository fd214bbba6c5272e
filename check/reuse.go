package check

import (
	"github.com/idemrace/idemrace/history"
)

func reuseLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "reuse/refused",
			Predicate: "A key sent with another payload is refused, executes nothing and gets nobody else's answer; in flight and after a takeover too.",
			Why:       "The second order is answered with the first one's charge, and is never made.",
			Applies:   anyReuse}, reuseRefused),
		law(Invariant{ID: "reuse/canonical",
			Predicate: "Payloads that are equal in the profile's named fields are one request: none of them is refused as a reuse.",
			Why:       "A retry brings a new timestamp and trace id; refused, the client never learns that it has paid.",
			Applies:   anyDuplicate}, reuseCanonical),
	}
}

func anyReuse(h *history.History) bool {
	firsts := map[id]history.Event{}
	for _, e := range h.Events {
		if e.Kind != history.Send || e.Key == "" && h.Header.Remote {
			continue // over HTTP a request without a key may be served: no key is no claim
		}
		k := id{e.Tenant, e.Operation, e.Key}
		first, known := firsts[k]
		if !known {
			firsts[k] = e
		} else if first.Ref != e.Ref && first.Fingerprint != e.Fingerprint {
			return true
		}
	}
	return false
}

func reuseRefused(v *view) *Violation {
	for _, k := range v.keys {
		if k.id.key == "" && v.header.Remote {
			continue
		}
		for _, span := range k.spans(v) {
			owner, since := v.established(span)
			if owner == nil {
				continue
			}
			for _, a := range span {
				if bad := v.reuse(owner, since, a); bad != nil {
					return bad
				}
			}
		}
	}
	return nil
}

// established is the attempt whose payload surely owned the key first, and the
// sign of it: an execution that was not given up, or a success. One that failed
// may have left the key free for any payload, so it owns nothing for sure.
func (v *view) established(span []*attempt) (*attempt, history.Event) {
	var owner *attempt
	var since history.Event
	for _, a := range span {
		if a.storeFailed() || a.answer.Source == "unprotected" || a.answered(history.Declined, history.Error, history.OwnerFailed, history.InProgress) {
			continue
		}
		sign := a.executed()
		if a.ok() && !marked(a.answer.Source) {
			sign = earlier(sign, a.answer)
		}
		if sign.Seq > 0 && (owner == nil || sign.Seq < since.Seq) {
			owner, since = a, sign
		}
	}
	return owner, since
}

// reuse judges an attempt beside the owner of its key.
func (v *view) reuse(owner *attempt, since history.Event, a *attempt) *Violation {
	if sameRequest(owner, a) || a.storeFailed() || a.answer.Source == "unprotected" || v.storeBlind(a) {
		return nil
	}
	evidence := []history.Event{owner.send, since, a.send, a.executed(), a.answer}
	acted := a.executed()
	if acted.Seq > 0 && acted.Seq > since.Seq {
		return violation(evidence, "the key %s belonged to %s, who had executed it over %d %s, yet %s executed another payload over %d with it %s",
			quoted(owner.send.Key), v.who(owner), owner.send.Amount, at(since), v.who(a), a.send.Amount, at(acted))
	}
	if a.send.Seq > since.Seq && a.answered(history.OK, history.InProgress, history.Declined, history.OwnerFailed, history.ResultTooLarge) {
		return violation(evidence, "the key %s belonged to %s, over %d, since %s, but %s, who sent it %s over %d, was not refused as a reuse: %s %s",
			quoted(owner.send.Key), v.who(owner), owner.send.Amount, ms(since.At), v.who(a), at(a.send), a.send.Amount, v.told(a), at(a.answer))
	}
	if a.ok() && !marked(a.answer.Source) {
		return violation(evidence, "the key %s belonged to %s, who had executed it over %d %s, yet %s, who sent it over %d, had a success of its own with it %s",
			quoted(owner.send.Key), v.who(owner), owner.send.Amount, at(since), v.who(a), a.send.Amount, at(a.answer))
	}
	if c := v.charges[a.answer.Charge]; a.ok() && c != nil && c.commit.Ref == owner.send.Ref {
		return violation(evidence, "the key %s belonged to %s, who had executed it over %d %s, yet %s, who sent it over %d, was given that one's charge %s: %s",
			quoted(owner.send.Key), v.who(owner), owner.send.Amount, at(since), v.who(a), a.send.Amount, at(a.answer), c.id)
	}
	return nil
}

// storeBlind: over HTTP nobody sees whether the target could read its store.
// Only a store that was last reported up, and left alone while the attempt was
// in flight, is known to have answered.
func (v *view) storeBlind(a *attempt) bool {
	blind := false
	for _, f := range v.faults {
		if !storeFault(f) || f.Seq > v.end(a).Seq {
			continue
		}
		blind = f.Seq > a.send.Seq || f.Op != "store-up"
	}
	return blind && !v.header.Inspected
}

// reuseCanonical judges a refusal only where every other attempt of the key so
// far was the same request: then there is nothing that it could have clashed with.
func reuseCanonical(v *view) *Violation {
	for _, k := range v.keys {
		first := k.attempts[0]
		other := v.last() // the first send of another request
		for _, a := range k.attempts {
			if !sameRequest(first, a) && a.send.Seq < other.Seq {
				other = a.send
			}
		}
		for _, a := range k.attempts[1:] {
			if a.answered(history.KeyReused) && a.answer.Seq < other.Seq {
				return violation([]history.Event{first.send, a.send, a.answer},
					"%s was refused as a reuse %s, though %s had sent the same request, over %d, with that key %s",
					v.who(a), at(a.answer), v.who(first), first.send.Amount, at(first.send))
			}
		}
	}
	return nil
}
