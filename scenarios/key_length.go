package scenarios

import (
	"strings"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
)

// keyLength: odd keys are refused, or fully protected; never run free.
func keyLength() Scenario {
	longest := strings.Repeat("k", idempotency.MaxKey)
	return Scenario{
		Name:    "key-length",
		Title:   "keys of 255 and 256 characters, empty, with blanks around, with : inside",
		Article: true,
		Why: "An odd key that silently runs unprotected, or is cut to the column's width, is a key that protects nothing: " +
			"its retry charges again. And operation a with key b:c must never meet operation a:b with key c.",
		Steps: []Step{
			Send{Client: "A", Key: longest}, Join{},
			Send{Client: "B", Key: longest}, Join{},
			Send{Client: "C", Key: longest + "k", Ref: "r2"}, Join{},
			Send{Client: "D", EmptyKey: true, Ref: "r3"}, Join{},
			Send{Client: "E", Key: " order-42 ", Ref: "r4"}, Join{},
			Send{Client: "F", Operation: "a", Key: "b:c", Ref: "r5"}, Join{},
			Send{Client: "G", Operation: "a:b", Key: "c", Ref: "r6"}, Join{}, Settle{},
		},
		Exposes:  possibly("key/hygiene", "scope/isolated", "effect/at-most-once", "answer/no-foreign"),
		Stresses: []check.Stress{check.NamesVary, check.NamesJoin, check.KeyOverlong},
		Controls: []history.Control{{Name: "replay", Min: 1}, {Name: "charge", Min: 3}},
	}
}
