package scenarios

import "github.com/idemrace/idemrace/check"

// Expect computes what an invariant's verdict must be for a target with these
// lacks; met says which conditions the surroundings fulfil.
//
//   - Not lacked under any of the scenario's stresses: it must hold.
//   - Lacked, and surely exposed: it must be violated, else the harness has lost
//     its teeth.
//   - Lacked, and possibly exposed: no claim; known is false.
//   - Lacked, and not exposed at all: the script cannot show it, so it must hold.
func (s Scenario) Expect(lacks []check.Lack, invariant string, met func(check.Need) bool) (v check.Verdict, known bool) {
	exposed, surely := s.exposes(invariant)
	if !exposed || !s.lacked(lacks, invariant, met) {
		return check.Held, true
	}
	return check.Violated, surely
}

func (s Scenario) exposes(invariant string) (exposed, surely bool) {
	for _, e := range s.Exposes {
		if e.Invariant == invariant {
			exposed = true
			surely = surely || e.Surely
		}
	}
	return exposed, surely
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
	for _, own := range s.Stresses {
		if own == stress {
			return true
		}
	}
	return false
}
