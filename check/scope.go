package check

import (
	"strings"
	"unicode"

	"github.com/idemrace/idemrace/history"
)

func scopeLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "scope/isolated",
			Predicate: "The same key under another operation or tenant has its own effect and its own answer.",
			Why:       "A cancellation is answered with the order it should cancel, or a stranger's payment is shown.",
			Applies:   manyScopes}, scopeIsolated),
	}
}

func scopeIsolated(v *view) *Violation {
	return v.meets(func(a, b *attempt) bool { return a.scope() != b.scope() }, looseName)
}

// meets finds two keys, apart as told, that meet in the target: they use one
// stored name, one is given the other's charge, or one is turned away though
// nobody else has sent its key. alike says which keys are suspected in that last
// case, where the answer does not tell whom it met.
func (v *view) meets(apart func(a, b *attempt) bool, alike func(*attempt) []string) *Violation {
	if bad := v.oneName(apart); bad != nil {
		return bad
	}
	for _, a := range v.attempts {
		if x := v.strangers(a); x != nil && x.id() != a.id() && apart(a, x) {
			c := v.charges[a.answer.Charge]
			return violation([]history.Event{x.send, a.send, c.commit, a.answer}, "%s sent %s and was given %s %s, which is the charge of %s, who had sent %s",
				v.who(a), keyWords(a), c.id, at(a.answer), v.who(x), keyWords(x))
		}
	}
	return v.turnedAway(apart, alike)
}

func keyWords(a *attempt) string { return "the key " + quoted(a.send.Key) + " under " + scopeWords(a) }

func (v *view) oneName(apart func(a, b *attempt) bool) *Violation {
	firsts := map[string]*op{}
	for _, o := range v.ops {
		if o.attempt == nil || o.attempt.send.Seq == 0 || o.call.Name == "" {
			continue
		}
		first := firsts[o.call.Name]
		if first == nil {
			firsts[o.call.Name] = o
		} else if a, b := first.attempt, o.attempt; a.id() != b.id() && apart(a, b) {
			return violation([]history.Event{a.send, first.call, b.send, o.call}, "%s sent %s and %s sent %s, yet both are kept under one stored name, %s",
				v.who(a), keyWords(a), v.who(b), keyWords(b), quoted(o.call.Name))
		}
	}
	return nil
}

func (v *view) turnedAway(apart func(a, b *attempt) bool, alike func(*attempt) []string) *Violation {
	suspects := map[string][]*attempt{}
	for _, k := range v.keys {
		for _, name := range alike(k.attempts[0]) {
			suspects[name] = append(suspects[name], k.attempts[0])
		}
	}
	for _, k := range v.keys {
		a := k.attempts[0]
		if len(k.attempts) > 1 || !a.answered(history.KeyReused, history.InProgress) || a.storeFailed() || v.storeBlind(a) {
			continue
		}
		for _, name := range alike(a) {
			for _, x := range suspects[name] {
				if x != a && apart(a, x) && x.send.Seq < a.answer.Seq {
					return violation([]history.Event{x.send, a.send, a.answer}, "nobody else had sent %s, yet %s %s; %s had sent %s",
						keyWords(a), v.told(a), at(a.answer), v.who(x), keyWords(x))
				}
			}
		}
	}
	return nil
}

// looseName is what a careless name would keep of an attempt's key: the key
// alone, or tenant, operation and key run together.
func looseName(a *attempt) []string {
	joined := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, a.send.Tenant+a.send.Operation+a.send.Key)
	return []string{"key " + a.send.Key, "joined " + joined}
}
