package scenarios_test

import (
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/scenarios"
)

func TestExpect(t *testing.T) {
	s := scenarios.Scenario{
		Exposes:  []check.Exposure{{Invariant: "effect/at-most-once", Surely: true}, {Invariant: "answer/loser"}},
		Stresses: []check.Stress{check.Overlap},
	}
	lack := func(id string, stress check.Stress, unless check.Need, sometimes bool) []check.Lack {
		return []check.Lack{{Invariant: id, Stress: stress, Unless: unless, Sometimes: sometimes}}
	}
	none := func(check.Need) bool { return false }
	all := func(check.Need) bool { return true }
	tests := []struct {
		reason    string
		lacks     []check.Lack
		invariant string
		met       func(check.Need) bool
		want      check.Verdict
		known     bool
	}{
		{"nothing lacked", nil, "effect/at-most-once", none, check.Held, true},
		{"lacked, stressed, surely exposed", lack("effect/at-most-once", check.Overlap, "", false), "effect/at-most-once", none, check.Violated, true},
		{"lacked under another stress", lack("effect/at-most-once", check.OwnerDies, "", false), "effect/at-most-once", none, check.Held, true},
		{"mended by the surroundings", lack("effect/at-most-once", check.Overlap, check.NeedsProviderKey, false), "effect/at-most-once", all, check.Held, true},
		{"always is every scenario's stress", lack("effect/at-most-once", check.Always, "", false), "effect/at-most-once", none, check.Violated, true},
		{"possibly exposed", lack("answer/loser", check.Overlap, "", false), "answer/loser", none, check.Violated, false},
		{"lacked sometimes", lack("effect/at-most-once", check.Overlap, "", true), "effect/at-most-once", none, check.Violated, false},
		{"sometimes, and surely for another stress", append(lack("effect/at-most-once", check.Overlap, "", true), lack("effect/at-most-once", check.Always, "", false)...),
			"effect/at-most-once", none, check.Violated, true},
	}
	for _, test := range tests {
		got, known := s.Expect(test.lacks, test.invariant, test.met)
		if known != test.known || known && got != test.want {
			t.Errorf("%s: %s, known %v", test.reason, got, known)
		}
	}
}
