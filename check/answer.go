package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/store"
)

func answerLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "answer/replay-equal",
			Predicate: "All successful answers for one key and fingerprint are equal, byte for byte.",
			Why:       "Two answers to one request are two truths: client and shop go on with different orders.",
			Applies:   hasAnswer(history.OK)}, replayEqual),
		law(Invariant{ID: "answer/one-fresh",
			Predicate: "At most one successful answer per key is not marked as a replay.",
			Why:       "Each unmarked success is counted as an order by whoever reads the answers.",
			Applies:   func(h *history.History) bool { return h.Header.Marker && hasAnswer(history.OK)(h) }}, oneFresh),
		law(Invariant{ID: "answer/loser",
			Predicate: `A duplicate gets the final answer, "in progress", or the owner's own failure: never a mismatch or another charge, and once the final answer was given and kept, nothing else.`,
			Why:       "An honest retry must not be punished for the race that it has lost.",
			Applies:   anyDuplicate}, loser),
		law(Invariant{ID: "answer/in-progress-true",
			Predicate: `"In progress" is said only while another attempt may hold the claim or the outcome is unknown.`,
			Why:       "The client waits for somebody who does not exist, and nobody does the work.",
			Applies:   hasAnswer(history.InProgress)}, inProgressTrue),
		law(Invariant{ID: "answer/source-true",
			Predicate: `What an answer says of where it comes from is true: "executed" has executed, "replayed" and "waited" are another's, "unprotected" or "store unavailable" is said only when the store had failed; and no attempt has reported as an orphan the charge that it names.`,
			Why:       "Whoever counts orders by the mark counts wrong, and whoever looks for unprotected charges looks in the wrong place.",
			Applies:   func(h *history.History) bool { return h.Header.Inspected && h.Header.Marker }}, sourceTrue),
		law(Invariant{ID: "answer/no-foreign",
			Predicate: "No answer carries a charge or fingerprint that belongs to another tenant or operation.",
			Why:       "One customer reads another's payment.",
			Applies:   manyScopes}, noForeign),
	}
}

func replayEqual(v *view) *Violation {
	for _, k := range v.keys {
		for _, span := range k.spans(v) {
			firsts := map[string]*attempt{} // fingerprint → first success
			for _, a := range span {
				if !a.ok() {
					continue
				}
				first := firsts[a.send.Fingerprint]
				if first == nil {
					firsts[a.send.Fingerprint] = a
				} else if said(first) != said(a) {
					return violation([]history.Event{first.answer, a.answer},
						"%s was answered %s %s, but %s, with the same key and the same payload, %s %s",
						v.who(first), quoted(said(first)), at(first.answer), v.who(a), quoted(said(a)), at(a.answer))
				}
			}
		}
	}
	return nil
}

// said is the answer as compared: the body, or what it names where bodies were
// not recorded.
func said(a *attempt) string {
	if a.answer.Body == "" {
		return a.answer.Charge
	}
	return a.answer.Body
}

func oneFresh(v *view) *Violation {
	for _, k := range v.keys {
		for _, span := range k.spans(v) {
			var first *attempt
			for _, a := range span {
				if !a.ok() || marked(a.answer.Source) || a.answer.Source == "" {
					continue // who says nothing of where an answer is from marks nothing
				}
				if first == nil {
					first = a
					continue
				}
				return violation([]history.Event{first.answer, a.answer},
					"%s was answered %s (%s) %s and %s %s (%s) %s: two answers for the key %s, and neither is marked as a replay",
					v.who(first), first.answer.Charge, freshly(first), at(first.answer), v.who(a), a.answer.Charge, freshly(a), at(a.answer), quoted(k.id.key))
			}
		}
	}
	return nil
}

// marked: the answer says that it is another's. Unprotected says only that the
// store was down: such an attempt has executed for itself, so it is fresh.
func marked(source string) bool {
	return source == "replayed" || source == "waited" || source == "superseded"
}

func freshly(a *attempt) string {
	if a.answer.Source == "" {
		return "unmarked"
	}
	return a.answer.Source
}

func anyDuplicate(h *history.History) bool {
	sent := map[id]int{}
	for _, e := range h.Events {
		if e.Kind == history.Send {
			sent[id{e.Tenant, e.Operation, e.Key}]++
			if sent[id{e.Tenant, e.Operation, e.Key}] > 1 {
				return true
			}
		}
	}
	return false
}

func loser(v *view) *Violation {
	for _, k := range v.keys {
		for _, span := range k.spans(v) {
			if !oneRequest(span) {
				continue // a mismatch is right; reuse/refused judges it
			}
			if bad := v.losers(span); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func oneRequest(span []*attempt) bool {
	return !slices.ContainsFunc(span, func(a *attempt) bool { return !sameRequest(a, span[0]) })
}

// losers looks at each duplicate with the attempts sent before it. latest is the
// one of them that ended last: if any overlaps with the duplicate, it does.
func (v *view) losers(span []*attempt) *Violation {
	var latest, final *attempt
	excuse := v.excused(span)
	for _, a := range span {
		if latest != nil && a.send.Seq < v.end(latest).Seq {
			if bad := v.lost(a, latest, excuse); bad != nil {
				return bad
			}
			if latest.ok() && a.ok() && latest.answer.Charge != a.answer.Charge {
				return violation([]history.Event{latest.answer, a.send, a.answer},
					"%s was sent %s, while %s was in flight, and the two were given different charges: %s %s, %s %s",
					v.who(a), at(a.send), v.who(latest), latest.answer.Charge, at(latest.answer), a.answer.Charge, at(a.answer))
			}
		}
		if final != nil && a.send.Seq > final.answer.Seq && v.putOff(a, final) && !v.overtaken(span, a, final) {
			return violation([]history.Event{final.answer, a.send, a.answer},
				`%s had the final answer %s %s, but %s, sent %s, was told %s %s`,
				v.who(final), final.answer.Charge, at(final.answer), v.who(a), at(a.send), answerWords(a.answer.Answer), at(a.answer))
		}
		if latest == nil || v.end(a).Seq > v.end(latest).Seq {
			latest = a
		}
		if a.ok() && v.clean(a) && (final == nil || a.answer.Seq < final.answer.Seq) {
			final = a
		}
	}
	return nil
}

// putOff: told to wait, or told a failure, though the final answer was there to be
// replayed. A failure counts only where that answer was surely kept, and nothing
// has touched the store or the attempt's worker since.
func (v *view) putOff(a, final *attempt) bool {
	switch {
	case v.storeBlind(a):
		return false
	case a.answered(history.InProgress):
		return true
	}
	return a.answered(nobodysFailure()...) && a.executed().Seq == 0 && !a.storeFailed() && !v.deadWorker(a) &&
		v.kept(final) && !v.storeDisturbed(a.answer)
}

// overtaken: a third attempt took the claim over from the one with the final answer,
// before that could be written down, and may hold it while the duplicate is told to
// wait. Where claims are not seen, that it executes shows it.
func (v *view) overtaken(span []*attempt, a, final *attempt) bool {
	if !a.answered(history.InProgress) || marked(final.answer.Source) {
		return false // what is passed on was written down
	}
	for _, x := range span {
		if slices.ContainsFunc(x.ops, func(o *op) bool { return o.finalises() && o.ret.Seq < a.send.Seq }) {
			return false // by whomever: a final is there
		}
	}
	began := final.executed()
	for _, o := range final.ops {
		if claims(o) {
			began = earlier(began, o.call)
		}
	}
	if began.Seq == 0 && v.header.Inspected {
		return false // it has read what it said
	}
	return slices.ContainsFunc(span, func(x *attempt) bool {
		return x != a && x != final && !(v.clean(x) && x.answer.Seq < a.send.Seq) && x.took(began.Seq, a).Seq > 0
	})
}

// took is where the attempt took the claim after that position, Seq 0 if it did not,
// or had given it up, or lost it, before the other was sent.
func (a *attempt) took(after int, other *attempt) history.Event {
	var claim history.Event
	seen := false
	for _, o := range a.ops {
		may := claims(o) || o.failed() && o.asks() // a claim whose reply was lost may be one
		seen = seen || may
		switch {
		case o.call.Seq > other.answer.Seq:
		case may && (o.ret.Seq == 0 || o.ret.Seq > after):
			claim = earlier(claim, o.call)
		case o.leaves() && o.ret.Seq < other.send.Seq:
			claim = history.Event{}
		}
	}
	if acted := a.executed(); !seen && acted.Seq > after && acted.Seq < other.answer.Seq {
		return acted
	}
	return claim
}

// leaves: whoever has this reply holds no claim.
func (o *op) leaves() bool {
	switch {
	case o.ret.Seq == 0 || o.ret.Err != "":
		return false
	case o.call.Op == history.OpSettle:
		return !o.ret.Applied || o.call.State != string(store.Unknown)
	}
	return o.call.Op == history.OpDelete
}

// nobodysFailure is the failures that an attempt which executed nothing may only
// pass on.
func nobodysFailure() []string {
	return []string{history.Error, history.OwnerFailed, history.Declined, history.UnknownOutcome, history.StoreUnavailable, history.InvalidKey}
}

// kept: the answer was surely written down, or read from where it was.
func (v *view) kept(a *attempt) bool {
	return marked(a.answer.Source) || slices.ContainsFunc(a.ops, (*op).finalises) || !v.header.Inspected && len(v.faults) == 0
}

// deadWorker: the attempt's worker is killed at some time, so its silence is nobody's word.
func (v *view) deadWorker(a *attempt) bool {
	return slices.ContainsFunc(v.killedWorkers(), func(f history.Event) bool { return f.Worker == a.send.Worker })
}

// lost judges what a concurrent duplicate was told.
func (v *view) lost(a, owner *attempt, excused bool) *Violation {
	evidence := []history.Event{owner.send, a.send, a.answer}
	if a.answered(history.KeyReused) {
		return violation(evidence, "%s was sent %s, while %s was in flight with the same key and the same payload, and was refused as a reuse %s",
			v.who(a), at(a.send), v.who(owner), at(a.answer))
	}
	if a.answered(history.OwnerFailed, history.Declined, history.Error) && !excused && a.executed().Seq == 0 {
		return violation(evidence, "%s was sent %s, while %s was in flight, and was told %s %s, though nobody's execution had failed",
			v.who(a), at(a.send), v.who(owner), answerWords(a.answer.Answer), at(a.answer))
	}
	return nil
}

// excused: something failed, so a failure may be the owner's.
func (v *view) excused(span []*attempt) bool {
	if len(v.faults) > 0 {
		return true
	}
	for _, a := range span {
		if a.storeFailed() || v.logical(a.send.Ref).failed() || a.answered(history.UnknownOutcome, history.HungUp, history.StoreUnavailable) {
			return true
		}
	}
	return false
}

// failed: some execution of the ref did not end well.
func (l *logical) failed() bool {
	return slices.ContainsFunc(l.calls, func(c *call) bool { return c.reply.Err != "" || c.reply.Seq == 0 }) ||
		slices.ContainsFunc(l.runs, func(r *run) bool { return r.ran.Class != history.ClassOK })
}

// clean: the attempt is over and cannot have left a claim behind.
func (v *view) clean(a *attempt) bool {
	if a.storeFailed() || a.left() || v.killed(a) || a.answer.Source == "unprotected" {
		return false
	}
	if !v.header.Inspected && v.storeDisturbed(a.answer) {
		return false
	}
	return a.answered(history.OK, history.Declined, history.KeyReused, history.InvalidKey,
		history.InProgress, history.OwnerFailed, history.ResultTooLarge)
}

func inProgressTrue(v *view) *Violation {
	for _, k := range v.keys {
		a, others := v.unheld(k, 0, func(x *attempt) int {
			if v.clean(x) {
				return x.answer.Seq
			}
			return never
		})
		if a != nil {
			return violation([]history.Event{a.send, a.answer}, `%s was told "in progress" %s, but %s`,
				v.who(a), at(a.answer), idle(others))
		}
	}
	return nil
}

// never is a position after every history.
const never = int(^uint(0) >> 1)

// unheld finds an attempt that was told "in progress" though no other may have
// held the claim; others is how many others there were, at least so many. free says from which
// position on an attempt surely holds no claim. It counts instead of comparing
// pairs: those that may have begun to hold, less those surely free by then.
func (v *view) unheld(k *keyed, least int, free func(*attempt) int) (a *attempt, others int) {
	var begun, ended []int
	for _, x := range k.attempts {
		if v.mayHold(x) {
			begun, ended = append(begun, x.send.Seq), append(ended, free(x))
		}
	}
	slices.Sort(begun)
	slices.Sort(ended)
	for _, b := range k.attempts {
		if !b.answered(history.InProgress) || v.storeBlind(b) {
			continue
		}
		before, _ := slices.BinarySearch(begun, b.answer.Seq)
		over, _ := slices.BinarySearch(ended, b.send.Seq+1) // free at the very moment it was sent
		if v.mayHold(b) {
			before--
		}
		if before <= over && before >= least {
			return b, before
		}
	}
	return nil, 0
}

// mayHold: a plain "in progress" has surely never held the claim; one that has
// executed may have, before it was overtaken.
func (v *view) mayHold(x *attempt) bool {
	return !x.answered(history.InProgress) || !v.clean(x) || x.executed().Seq > 0
}

func idle(others int) string {
	if others == 0 {
		return "nobody else had executed or claimed that key"
	}
	return "every other attempt with that key was over before this one was sent"
}

func noForeign(v *view) *Violation {
	prints := v.fingerprints()
	for _, a := range v.attempts {
		if a.answer.Seq == 0 || a.send.Seq == 0 {
			continue
		}
		if other := v.strangers(a); other != nil && other.scope() != a.scope() {
			c := v.charges[a.answer.Charge]
			return violation([]history.Event{a.send, c.commit, a.answer}, "%s, sent as %s, was given %s %s: that is the charge of %s, sent as %s",
				v.who(a), scopeWords(a), c.id, at(a.answer), v.who(other), scopeWords(other))
		}
		for _, p := range prints {
			if p.scope() != a.scope() && p.send.Fingerprint != a.send.Fingerprint && strings.Contains(a.answer.Body, p.send.Fingerprint) {
				return violation([]history.Event{p.send, a.answer}, "the answer to %s, sent as %s, shows the fingerprint of %s, sent as %s",
					v.who(a), scopeWords(a), v.who(p), scopeWords(p))
			}
		}
	}
	return nil
}

// fingerprints is one attempt for each scope's fingerprint; not more than a few,
// and none so short that it could stand in a body by chance.
func (v *view) fingerprints() []*attempt {
	const most, shortest = 32, 12
	var firsts []*attempt
	seen := map[string]bool{}
	for _, a := range v.attempts {
		name := fmt.Sprint(a.scope(), a.send.Fingerprint)
		if len(a.send.Fingerprint) >= shortest && !seen[name] && len(firsts) < most {
			seen[name] = true
			firsts = append(firsts, a)
		}
	}
	return firsts
}

// strangers returns an attempt of another ref to which the charge belongs that a
// names, nil if the charge is its own or unknown.
func (v *view) strangers(a *attempt) *attempt {
	c := v.charges[a.answer.Charge]
	if c == nil || a.send.Seq == 0 || c.commit.Ref == a.send.Ref {
		return nil
	}
	for _, x := range v.logical(c.commit.Ref).attempts {
		return x
	}
	return nil
}

func scopeWords(a *attempt) string {
	if a.send.Tenant == "" {
		return quoted(a.send.Operation)
	}
	return quoted(a.send.Operation) + " of " + quoted(a.send.Tenant)
}

func manyScopes(h *history.History) bool {
	scopes := map[id]bool{}
	for _, e := range h.Events {
		if e.Kind == history.Send {
			scopes[id{tenant: e.Tenant, operation: e.Operation}] = true
		}
	}
	return len(scopes) > 1
}
