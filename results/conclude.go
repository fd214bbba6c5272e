package results

// The verdicts as the document spells them; package check owns their meaning.
const (
	held         = "held"
	inconclusive = "inconclusive"
	violated     = "violated"
)

// Conclude sets a judged cell's verdict, expectation and whether the two agree,
// from its findings and controls: the worst of each. A failed control makes a
// cell inconclusive unless something is violated; then what it leaves open
// beside the violation is not held against the cell.
func Conclude(c *Cell) {
	c.Verdict, c.Expected, c.AsExpected = held, held, true
	for _, control := range c.Controls {
		if control.Seen < control.Min {
			c.Verdict = inconclusive
		}
	}
	for _, f := range c.Findings {
		c.Verdict = worse(c.Verdict, f.Verdict)
		c.Expected = worse(c.Expected, f.Expected)
	}
	for _, f := range c.Findings {
		open := c.Verdict == violated && f.Verdict == inconclusive && f.Expected != violated
		c.AsExpected = c.AsExpected && (open || AsExpected(f))
	}
	if c.Verdict == inconclusive {
		c.AsExpected = false
	}
}

// AsExpected reports whether a finding is what was expected of it; where nothing
// was expected, everything is.
func AsExpected(f Finding) bool {
	return f.Expected == ExpectNone || f.Expected == f.Verdict
}

func worse(a, b string) string {
	if badness(b) > badness(a) {
		return b
	}
	return a
}

func badness(word string) int {
	switch word {
	case violated:
		return 3
	case inconclusive:
		return 2
	case ExpectNone:
		return 1
	}
	return 0
}
