package results

// Matrix is what a selftest says of the harness: which coordinator was caught
// at which invariant, and whether that is all that should have been.
type Matrix struct {
	Invariants []string    `json:"invariants"` // the columns: those that anybody lacks or violates
	Rows       []MatrixRow `json:"rows"`
	// Recall: of what is lacked (coordinator, invariant, stress), how much was
	// violated in at least one scenario. Missed is the rest.
	Recall Figure   `json:"recall"`
	Missed []Missed `json:"missed,omitempty"`
	// Precision: of the findings that nobody lacks, how many held. False is the rest.
	Precision Figure       `json:"precision"`
	False     []FalseAlarm `json:"false_alarms,omitempty"`
}

// MatrixRow is one coordinator.
type MatrixRow struct {
	Target string                `json:"target"`
	Caught map[string]MatrixCell `json:"caught"` // by invariant
}

// MatrixCell is one coordinator at one invariant.
type MatrixCell struct {
	Lacked    bool   `json:"lacked"`
	Scenario  string `json:"scenario,omitempty"` // the first that showed a violation; "" if none did
	Scenarios int    `json:"scenarios"`          // how many did
}

// Missed is a lack that no scenario showed.
type Missed struct {
	Target    string `json:"target"`
	Invariant string `json:"invariant"`
	Stress    string `json:"stress"`
}

// FalseAlarm is a violation of what is not lacked, or a verdict that is open.
type FalseAlarm struct {
	Target    string `json:"target"`
	Scenario  string `json:"scenario"`
	Invariant string `json:"invariant,omitempty"` // "" for a cell that is inconclusive or could not run
	Verdict   string `json:"verdict"`
	Because   string `json:"because,omitempty"`
}

// Figure is a share.
type Figure struct {
	Have int `json:"have"`
	Of   int `json:"of"`
}

// Full reports whether nothing is missing.
func (f Figure) Full() bool { return f.Have == f.Of }

// Full reports whether everything lacked was caught and nothing else was.
func (m *Matrix) Full() bool { return m.Recall.Full() && m.Precision.Full() && len(m.False) == 0 }
