package scenarios

import (
	"slices"

	"github.com/idemrace/idemrace/check"
)

// Expect computes what an invariant's verdict must be for a target with these
// lacks; met says which conditions the surroundings fulfil.
//
//   - Not lacked under any of the scenario's stresses: it must hold.
//   - Lacked, not only sometimes, and surely exposed: it must be violated, else
//     the harness has lost its teeth.
//   - Lacked otherwise: no claim; known is false.
//
// Where chance decides what happens, no claim is made of what is lacked at all.
//
// Of a target that says nothing of what it lacks, no claim is made where a double
// charge lies in the nature of the scenario: nobody could keep it.
func (s Scenario) Expect(lacks []check.Lack, invariant string, met func(check.Need) bool) (v check.Verdict, known bool) {
	if lacks == nil && s.AtLeastOnce && natural(invariant) {
		return check.Held, false
	}
	if s.Chance && slices.ContainsFunc(lacks, func(l check.Lack) bool { return l.Invariant == invariant }) {
		return check.Held, false
	}
	lacked := s.Lacked(lacks, invariant, met)
	if len(lacked) == 0 {
		return check.Held, true
	}
	always := slices.ContainsFunc(lacked, func(l check.Lack) bool { return !l.Sometimes })
	return check.Violated, always && s.surely(invariant)
}

// natural are the invariants that a second execution violates by itself, however
// honestly it is made.
func natural(invariant string) bool {
	return slices.Contains([]string{"effect/at-most-once", "effect/silent-duplicate", "effect/unknown-stays-unknown",
		"answer/replay-equal", "answer/one-fresh", "client/abort-safe"}, invariant)
}

func (s Scenario) surely(invariant string) bool {
	for _, e := range s.Exposes {
		if e.Invariant == invariant && e.Surely {
			return true
		}
	}
	return false
}

// Lacked are the lacks of an invariant that this scenario's stresses touch and
// the surroundings do not mend.
func (s Scenario) Lacked(lacks []check.Lack, invariant string, met func(check.Need) bool) []check.Lack {
	var touched []check.Lack
	for _, l := range lacks {
		if l.Invariant == invariant && s.has(l.Stress) && (l.Unless == check.NeedsNothing || !met(l.Unless)) {
			touched = append(touched, l)
		}
	}
	return touched
}

func (s Scenario) has(stress check.Stress) bool {
	if stress == check.Always {
		return true
	}
	for _, own := range s.Stresses {
		if own == stress {
			return true
		}
	}
	return false
}
