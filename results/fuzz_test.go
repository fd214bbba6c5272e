package results

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzRead: whatever the bytes, reading ends in a run or in one line that is
// ErrDocument; and a run that was read is written and read again as the same.
func FuzzRead(f *testing.F) {
	var whole bytes.Buffer
	if err := Encode(&whole, example()); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.String())
	f.Add(whole.String()[:500])
	f.Add(`{"schema":"idemrace.run/v1","cells":[{"status":"could-not-run","why":"redis://a@b@"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		run, err := Read(strings.NewReader(text), "run.json")
		if err != nil {
			if !errors.Is(err, ErrDocument) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %q", err)
			}
			return
		}
		var out bytes.Buffer
		if err := Encode(&out, run); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&out, "run.json")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Redact(run), again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
