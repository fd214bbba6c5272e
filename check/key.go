package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/idemrace/idemrace/history"
)

func keyLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "key/hygiene",
			Predicate: "An empty, over-long or odd key is refused or fully protected, and keys that look alike never meet.",
			Why:       "The client sends a key and believes itself protected; it is not.",
			Applies:   manyKeysOrOdd}, keyHygiene),
	}
}

func manyKeysOrOdd(h *history.History) bool {
	keys := map[id]string{}
	for _, e := range h.Events {
		if e.Kind != history.Send {
			continue
		}
		scope := id{tenant: e.Tenant, operation: e.Operation}
		if k, known := keys[scope]; odd(e.Key) || known && k != e.Key {
			return true
		}
		keys[scope] = e.Key
	}
	return false
}

// plainKey is a length that every implementation can be trusted with; a UUID has 36.
const plainKey = 64

// odd: not a short key of letters, digits and the usual separators.
func odd(key string) bool {
	return key == "" || utf8.RuneCountInString(key) > plainKey || strings.ContainsFunc(key, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.~", r)
	})
}

func keyHygiene(v *view) *Violation {
	apart := func(a, b *attempt) bool { return a.scope() == b.scope() && a.send.Key != b.send.Key }
	if bad := v.meets(apart, nearName); bad != nil {
		return bad
	}
	if bad := v.unguarded(); bad != nil {
		return bad
	}
	for _, g := range v.groups() {
		standing := g.standing()
		if len(standing) > 1 && slices.ContainsFunc(g.of.attempts, func(a *attempt) bool { return odd(a.send.Key) }) {
			bad := v.double(g, standing, "")
			bad.Because = "The key " + quoted(g.of.attempts[0].send.Key) + " was accepted, but not protected: " + bad.Because
			return bad
		}
	}
	return nil
}

// nearName is what remains of a key that is trimmed, folded, or cut short.
func nearName(a *attempt) []string {
	const cut = 64
	folded := strings.ToLower(strings.TrimSpace(a.send.Key))
	names := []string{"folded " + folded}
	if r := []rune(a.send.Key); len(r) > cut {
		names = append(names, "cut "+string(r[:cut]))
	}
	return names
}

// unguarded finds an odd key that was executed though the store was never asked.
func (v *view) unguarded() *Violation {
	if !v.header.Inspected || !slices.ContainsFunc(v.ops, func(o *op) bool { return o.attempt != nil }) {
		return nil // which attempt asked the store is not known
	}
	for _, a := range v.attempts {
		acted := a.executed()
		if a.send.Seq > 0 && odd(a.send.Key) && acted.Seq > 0 && len(a.ops) == 0 {
			return violation([]history.Event{a.send, acted, a.answer}, "%s sent the key %s (%d characters), and it was executed %s without ever asking the store",
				v.who(a), quoted(a.send.Key), utf8.RuneCountInString(a.send.Key), at(acted))
		}
	}
	return nil
}
