package check

import (
	"strings"

	"github.com/idemrace/idemrace/history"
)

func providerLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "provider/key-stable",
			Predicate: "All provider calls of one ref and generation that carry a key carry the same one.",
			Why:       "A provider's own idempotency protects the charge only if a retry brings the key of the first try.",
			Applies:   anyProviderKey}, keyStable),
		law(Invariant{ID: "provider/key-distinct",
			Predicate: "Calls of different refs never share a provider key.",
			Why:       "The provider would answer one order with the charge of another, and the second is never paid.",
			Applies:   anyProviderKey}, keyDistinct),
	}
}

func anyProviderKey(h *history.History) bool {
	for _, e := range h.Events {
		if e.Kind == history.Arrive && e.ProviderKey != "" {
			return true
		}
	}
	return false
}

// keyStable judges a call of which the generation is known: from the claim that
// it ran under, or because nothing has failed before it: then it is the first.
func keyStable(v *view) *Violation {
	for _, l := range v.refs {
		firsts, failed := map[int64]*call{}, v.last().Seq
		for _, c := range l.calls {
			if c.reply.Err != "" {
				failed = min(failed, c.reply.Seq)
			}
		}
		for _, c := range l.calls {
			g := c.generation()
			if g == 0 && c.arrive.Seq < failed {
				g = 1
			}
			if g == 0 || c.arrive.ProviderKey == "" {
				continue
			}
			first := firsts[g]
			if first == nil || !v.lives.one(first.arrive, c.arrive) {
				firsts[g] = c
				continue
			}
			if first.arrive.ProviderKey != c.arrive.ProviderKey {
				return violation([]history.Event{first.arrive, c.arrive},
					"%s came to the provider %s with the key %s, %s %s with the key %s: for the provider they are two orders",
					v.whose(first.attempt, "call"), at(first.arrive), quoted(first.arrive.ProviderKey),
					short(v.whose(c.attempt, "call")), at(c.arrive), quoted(c.arrive.ProviderKey))
			}
		}
	}
	return nil
}

// generation is that of the claim the call ran under, 0 if the history does not
// show it.
func (c *call) generation() int64 {
	var g int64
	if c.attempt == nil {
		return 0
	}
	for _, o := range c.attempt.ops {
		if o.ret.Seq > 0 && o.ret.Seq < c.arrive.Seq && o.call.Op == history.OpClaim && o.ret.Mine {
			g = o.ret.Generation
		}
	}
	return g
}

func keyDistinct(v *view) *Violation {
	owners := map[string]*call{}
	for _, c := range v.calls {
		key := c.arrive.ProviderKey
		if key == "" {
			continue
		}
		first := owners[key]
		if first == nil || !v.lives.one(first.arrive, c.arrive) {
			owners[key] = c
			continue
		}
		if first.arrive.Ref != c.arrive.Ref {
			return violation([]history.Event{first.arrive, c.arrive},
				"%s for the ref %s %s and %s for the ref %s %s carried one provider key, %s",
				v.whose(first.attempt, "call"), quoted(first.arrive.Ref), at(first.arrive),
				strings.TrimSpace(short(v.whose(c.attempt, "call"))), quoted(c.arrive.Ref), at(c.arrive), quoted(key))
		}
	}
	return nil
}
