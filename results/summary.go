package results

// Summarise counts cells and charges. A cell that was not judged is neither as
// expected nor unexpected, and its ledger counts nothing: a charge that was made
// while the store was away says nothing of the coordinator, and must not close a
// gate on it; nor does one that is known and accepted. An inconclusive cell is counted as that alone.
func Summarise(cells []Cell) Summary {
	s := Summary{Cells: len(cells)}
	for _, c := range cells {
		s.count(c)
		if c.Status != Judged || c.Accepted {
			continue
		}
		double, excess := DoubleCharges(c)
		s.DoubleCharges += double
		s.ExcessCharges += excess
		if !c.AtLeastOnce {
			s.GatedDoubleCharges += double
		}
	}
	return s
}

func (s *Summary) count(c Cell) {
	switch {
	case c.Status == NotApplicable:
		s.NotApplicable++
	case c.Status == CouldNotRun:
		s.CouldNotRun++
	case c.Verdict == inconclusive:
		s.Inconclusive++
	case c.AsExpected:
		s.AsExpected++
	default:
		s.Unexpected++
	}
}

// DoubleCharges counts the operations of a cell, by ref and kind of effect, with
// two or more standing charges, and sums what is over one. It looks at nothing
// but the ledger.
func DoubleCharges(c Cell) (double, excess int) {
	type operation struct{ ref, effect string }
	standing := map[operation]int{}
	for _, charge := range c.Charges {
		if !charge.Voided {
			standing[operation{charge.Ref, charge.Effect}]++
		}
	}
	for _, n := range standing {
		if n > 1 {
			double++
			excess += n - 1
		}
	}
	return double, excess
}
