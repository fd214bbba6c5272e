package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// scope: one key, two operations, two records.
func scope() Scenario {
	return Scenario{
		Name:    "scope",
		Title:   "one key under order.create and order.cancel, each sent twice",
		Article: true,
		Why: "A key is unique per operation, not per system. If the operation is no part of the stored name, " +
			"a cancellation is answered with the receipt of the order, and is never made.",
		Steps: []Step{
			Send{Client: "A", Operation: "order.create"}, Join{},
			Send{Client: "B", Operation: "order.cancel", Ref: "r2"}, Join{},
			Send{Client: "C", Operation: "order.create"}, Join{},
			Send{Client: "D", Operation: "order.cancel", Ref: "r2"}, Join{}, Settle{},
		},
		Exposes:  possibly("scope/isolated", "answer/no-foreign", "effect/success-backed", "provider/key-distinct"),
		Stresses: []check.Stress{check.NamesVary},
		Controls: []history.Control{{Name: "charge", Min: 2}, {Name: "replay", Min: 2}},
	}
}
