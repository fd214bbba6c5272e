package scenarios

import "github.com/idemrace/idemrace/check"

// Expect computes what an invariant's verdict must be for a target with these
// lacks; met says which conditions the surroundings fulfil.
//
//   - Not lacked under any of the scenario's stresses: it must hold.
//   - Lacked, and surely exposed: it must be violated, else the harness has lost
//     its teeth.
//   - Lacked otherwise: no claim; known is false.
func (s Scenario) Expect(lacks []check.Lack, invariant string, met func(check.Need) bool) (v check.Verdict, known bool) {
	if !s.lacked(lacks, invariant, met) {
		return check.Held, true
	}
	return check.Violated, s.surely(invariant)
}

func (s Scenario) surely(invariant string) bool {
	for _, e := range s.Exposes {
		if e.Invariant == invariant && e.Surely {
			return true
		}
	}
	return false
}

func (s Scenario) lacked(lacks []check.Lack, invariant string, met func(check.Need) bool) bool {
	for _, l := range lacks {
		if l.Invariant == invariant && s.has(l.Stress) && (l.Unless == check.NeedsNothing || !met(l.Unless)) {
			return true
		}
	}
	return false
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
