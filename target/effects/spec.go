// Package effects counts what a service has done where that is no call of the
// fake provider: rows of a table, lines of a journal. A command or a URL gives
// them; they are asked for until they rest.
//
// It refuses to guess: a row without an id is an error, and one without a ref, unless
// effects are told by their amounts. It never takes a ref from the provider's key.
package effects

import "time"

// Spec says how effects are counted and whose each is.
type Spec struct {
	// Ref is how a charge is attributed to its logical operation: field:PATH (of a
	// JSON or form body that the provider gets), header:NAME, metadata:NAME, description,
	// or amount: every logical operation then has an amount of its own. Default: amount.
	Ref string `yaml:"ref,omitempty"`
	// Command or URL gives all rows so far. Neither: effects are the provider's charges.
	Command string            `yaml:"command,omitempty"` // run by sh -c
	URL     string            `yaml:"url,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty"` // of the URL's request
	Format  string            `yaml:"format,omitempty"`  // json (an array of objects, or one a line) or csv (with a header line)
	Rows    string            `yaml:"rows,omitempty"`    // gjson path of the array, where the JSON is not one
	Columns Columns           `yaml:"columns,omitempty"`
	// Quiet is for how long nothing may have changed before a verdict is given:
	// services execute requests long after their client has left. Default: DefaultQuiet.
	Quiet time.Duration `yaml:"quiet,omitempty"`
}

// Columns are the names of the columns, or gjson paths of the members.
type Columns struct {
	Ref    string `yaml:"ref,omitempty"`    // default: ref; may hold what the ref is part of; not needed where Spec.Ref is amount
	ID     string `yaml:"id,omitempty"`     // default: id
	Amount string `yaml:"amount,omitempty"` // default: amount, in minor units
	At     string `yaml:"at,omitempty"`     // RFC 3339, or as psql prints it; "": the row does not say
}

// DefaultQuiet is far more than a loaded service needs between two steps.
const DefaultQuiet = 300 * time.Millisecond

// Row is one effect.
type Row struct {
	Ref    string
	ID     string
	Amount int64     // minor units
	At     time.Time // zero if the row does not say
}
