package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/idemrace/idemrace/results"
)

// ErrNoSelftest: the run is not one of selftest.
var ErrNoSelftest = errors.New("the run holds no selftest")

func drawMatrix(w io.Writer, run results.Run, opt Options) error {
	m := run.Selftest
	if m == nil {
		return ErrNoSelftest
	}
	for _, x := range m.Missed {
		fmt.Fprintf(w, "MISSED %s %s under %s\n", x.Target, x.Invariant, x.Stress)
	}
	for _, x := range m.False {
		fmt.Fprintf(w, "FALSE %s in %s: %s %s: %s\n", x.Target, x.Scenario, x.Invariant, x.Verdict, x.Because)
	}
	fmt.Fprintf(w, "recall %d/%d precision %d/%d\n", m.Recall.Have, m.Recall.Of, m.Precision.Have, m.Precision.Of)
	return nil
}
