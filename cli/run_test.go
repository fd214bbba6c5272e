package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/cli"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
)

// TestMain holds that no command leaves a goroutine behind.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && strings.HasPrefix(os.Args[1], "__explore-admit") { // a child of explore's
		os.Exit(cli.Run(context.Background(), cli.Config{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Extra: dozing()}))
	}
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Run(context.Background(), cli.Config{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	goleak.VerifyTestMain(m)
}

// asProgram in the environment makes this binary idemrace: processes are tested as such.
const asProgram = "TEST_AS_IDEMRACE"

// call runs one command with nothing from outside.
func call(ctx context.Context, cfg cli.Config, args ...string) (code int, out, said string) {
	var stdout, stderr bytes.Buffer
	cfg.Args, cfg.Stdout, cfg.Stderr = args, &stdout, &stderr
	code = cli.Run(ctx, cfg)
	return code, stdout.String(), stderr.String()
}

type deafWriter struct{ err error }

func (w deafWriter) Write([]byte) (int, error) { return 0, w.err }

// TestWriteFails: a reader that has gone is no failure, a full disk is one.
func TestWriteFails(t *testing.T) {
	tests := []struct {
		err  error
		code int
		said string
	}{
		{syscall.EPIPE, cli.ExitOK, ""},
		{io.ErrClosedPipe, cli.ExitOK, ""},
		{errors.New("no space"), cli.ExitCouldNotRun, "no space"},
	}
	for _, tt := range tests {
		for _, args := range [][]string{{"run", "--scenario", "key-reuse", "--impl", "wait", "--store", "memory"}, {"list"}, {"version"}} {
			var stderr bytes.Buffer
			code := cli.Run(t.Context(), cli.Config{Args: args, Stdout: deafWriter{tt.err}, Stderr: &stderr})
			if code != tt.code || !strings.Contains(stderr.String(), tt.said) || tt.said == "" && stderr.Len() > 0 {
				t.Errorf("%v, %v: exit %d, %q; want %d, %q", args, tt.err, code, stderr.String(), tt.code, tt.said)
			}
		}
	}
}

// TestInterruptedBeforeItBegan: the document says which cells there would have
// been, and that none of them was judged.
func TestInterruptedBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "run.json")
	code, _, said := call(ctx, cli.Config{}, "run", "--store", "redis-server", "--scenario", "in-flight", "--format", "json", "-o", path)
	if code != cli.ExitInterrupted || !strings.Contains(said, "exit 130: interrupted: 0 of 3 cells") {
		t.Fatalf("exit %d, %q", code, said)
	}
	run, err := results.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !run.Interrupted || run.Summary.CouldNotRun != 3 {
		t.Errorf("interrupted %v, %+v", run.Interrupted, run.Summary)
	}
}

// TestExtraRefused: coordinators that cannot be told apart are refused.
func TestExtraRefused(t *testing.T) {
	make := func(impl.Env) (idempotency.Coordinator, error) { return nil, errors.New("never made") }
	tests := []struct {
		why   string
		extra []impl.Entry
	}{
		{"no name", []impl.Entry{{New: make}}},
		{"no constructor", []impl.Entry{{Name: "mine"}}},
		{"one of ours", []impl.Entry{{Name: "cache", New: make}}},
		{"a group", []impl.Entry{{Name: "article", New: make}}},
		{"twice", []impl.Entry{{Name: "mine", New: make}, {Name: "mine", New: make}}},
	}
	for _, tt := range tests {
		if code, _, said := call(t.Context(), cli.Config{Extra: tt.extra}, "list"); code != cli.ExitUsage {
			t.Errorf("%s: exit %d, %q", tt.why, code, said)
		}
	}
}

// TestExtraThatCannotBeMade: its cells could not run, and say why.
func TestExtraThatCannotBeMade(t *testing.T) {
	extra := []impl.Entry{{Name: "mine", Groups: []string{"ours"}, New: func(impl.Env) (idempotency.Coordinator, error) {
		return nil, errors.New("no licence")
	}}}
	code, out, _ := call(t.Context(), cli.Config{Extra: extra}, "run", "--impl", "ours", "--scenario", "key-reuse", "--store", "memory")
	if code != cli.ExitCouldNotRun || !strings.Contains(out, "no licence") || !strings.Contains(out, "reproduce: idemrace run --scenario key-reuse --impl mine") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestSaveRefusesAPlaceThatIsNone: a directory cannot be made below a file.
func TestSaveRefusesAPlaceThatIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := call(t.Context(), cli.Config{}, "run", "--save", filepath.Join(file, "below"))
	if code != cli.ExitUsage || out != "" || strings.Count(said, "\n") != 1 {
		t.Errorf("exit %d, %q, %q", code, out, said)
	}
}
