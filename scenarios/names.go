package scenarios

import (
	"fmt"
	"strings"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// tenants: one key, two tenants.
func tenants() Scenario {
	return Scenario{
		Name:  "tenants",
		Title: "one key under two tenants, each sent twice",
		Why:   "Clients choose keys, and two of them choose the same: order-1. One must never get the other's answer.",
		Steps: []Step{
			Send{Client: "A", Tenant: "acme"}, Join{},
			Send{Client: "B", Tenant: "globex", Ref: "r2"}, Join{},
			Send{Client: "C", Tenant: "acme"}, Join{},
			Send{Client: "D", Tenant: "globex", Ref: "r2"}, Join{}, Settle{},
		},
		Exposes:  possibly("scope/isolated", "answer/no-foreign", "effect/success-backed", "provider/key-distinct"),
		Stresses: []check.Stress{check.NamesVary},
		Controls: []history.Control{{Name: "charge", Min: 1}},
	}
}

// nearEqualKeys: keys that a sloppy store takes for one.
func nearEqualKeys() Scenario {
	long := strings.Repeat("k", 250)
	keys := []string{"order-42", "ORDER-42", "order-421", "order- 42", "order-4%32", "{order}-42", long + "-1", long + "-2"}
	var steps []Step
	for i, k := range keys {
		steps = append(steps, Send{Client: fmt.Sprintf("K%d", i+1), Key: k, Ref: fmt.Sprintf("r%d", i+1)}, Join{})
	}
	return Scenario{
		Name:  "near-equal-keys",
		Title: "keys that differ in case, a blank, a prefix, or only after 250 characters",
		Why: "A column that folds case or cuts at its width, a name that is trimmed or unescaped: two orders become one, " +
			"and the second customer is answered with the first one's receipt.",
		Steps:    append(steps, Settle{}),
		Exposes:  possibly("key/hygiene", "effect/success-backed", "answer/no-foreign", "provider/key-distinct", "scope/isolated"),
		Stresses: []check.Stress{check.NamesVary},
		Controls: []history.Control{{Name: "charge", Min: 1}},
	}
}

// overlongKey: the same key of 256 characters twice.
func overlongKey() Scenario {
	return Scenario{
		Name:     "overlong-key",
		Title:    "one key of 300 characters, sent twice",
		Why:      "A key that is too long may be refused, or protected; what it may not is to run as if there were none.",
		Steps:    []Step{Send{Client: "A", Key: strings.Repeat("k", 300)}, Join{}, Send{Client: "B", Key: strings.Repeat("k", 300)}, Join{}, Settle{}},
		Exposes:  join(surely("key/hygiene", "effect/at-most-once"), possibly("answer/one-fresh", "answer/replay-equal")),
		Stresses: []check.Stress{check.NamesVary, check.KeyOverlong},
	}
}

// joinedNames: two pairs whose parts, joined by a colon, are one string.
func joinedNames() Scenario {
	return Scenario{
		Name:  "joined-names",
		Title: "operation a with key b:c, and operation a:b with key c",
		Why:   "Names that are joined without escaping meet: both pairs are a:b:c, and the second is answered with the first one's receipt.",
		Steps: []Step{
			Send{Client: "A", Operation: "a", Key: "b:c"}, Join{},
			Send{Client: "B", Operation: "a:b", Key: "c", Ref: "r2"}, Join{}, Settle{},
		},
		Exposes:  join(surely("scope/isolated"), possibly("answer/no-foreign", "effect/success-backed", "provider/key-distinct")),
		Stresses: []check.Stress{check.NamesVary, check.NamesJoin},
		Controls: []history.Control{{Name: "charge", Min: 1}},
	}
}
