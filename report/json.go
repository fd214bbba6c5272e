package report

import (
	"io"

	"github.com/idemrace/idemrace/results"
)

// drawJSON writes the document as it is kept in run.json.
func drawJSON(w io.Writer, run results.Run, _ Options) error { return results.Encode(w, run) }
