package cli_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/idemrace/idemrace/cli"
)

// The reference run that lies in the repository is judged and drawn as it was.
func TestArticleReference(t *testing.T) {
	want, err := os.ReadFile("../results/article/table.txt")
	if err != nil {
		t.Fatalf("make article makes it: %v", err)
	}
	for _, verb := range []string{"check", "report"} {
		var out, errs bytes.Buffer
		code := cli.Run(context.Background(), cli.Config{Args: []string{verb, "-q", "../results/article", "--color", "never"}, Stdout: &out, Stderr: &errs})
		if code != 0 {
			t.Errorf("%s: exit %d: %s", verb, code, errs.String())
		}
		if !bytes.HasPrefix(out.Bytes(), bytes.TrimRight(want, "\n")) {
			t.Errorf("%s draws another table:\n%s", verb, out.String())
		}
	}
}
