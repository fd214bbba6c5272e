package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// keyReuse is the article's table 2.
func keyReuse() Scenario {
	return Scenario{
		Name:    "key-reuse",
		Title:   "same key, same amount; then same key, amount 5",
		Article: true,
		Why: "A key describes one request. When it comes back with another amount, the old answer would be a lie: " +
			"somebody asked for 5 and is told that 100 was charged. The only right answer is a refusal (HTTP 422).",
		Steps: []Step{
			Send{Client: "A"}, Join{},
			Send{Client: "B"}, Join{},
			Send{Client: "C", Ref: "r2", Amount: 5}, Join{}, Settle{},
		},
		Exposes:  possibly("reuse/refused", "effect/success-backed", "answer/replay-equal"),
		Stresses: []check.Stress{check.PayloadVaries},
		Controls: []history.Control{{Name: "replay", Min: 1}, {Name: "refusal", Min: 1}},
	}
}
