package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// oversizeResult: what is too large to keep must still be remembered as done.
func oversizeResult() Scenario {
	return Scenario{
		Name:    "oversize-result",
		Title:   "the result (4 KiB) is over the limit (1 KiB); retry",
		Article: true,
		Why: "A result that does not fit must not be dropped with its record: the next retry would find nothing and charge again. " +
			"It is done, and too large to replay; or it is kept elsewhere and a reference is stored.",
		Setting:  Setting{MaxResult: 1 << 10},
		Steps:    []Step{Send{Client: "A", Pad: 4 << 10}, Join{}, Send{Client: "B", Pad: 4 << 10}, Join{}, Settle{}},
		Exposes:  join(surely("effect/at-most-once"), possibly("answer/replay-equal")),
		Stresses: []check.Stress{check.Oversize},
		Controls: []history.Control{{Name: "charge", Min: 1}},
	}
}
