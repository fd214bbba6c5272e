//go:build unix

package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/idemrace/idemrace/cli"
)

// An interrupt ends the wait for a pipe that nobody fills.
func TestAnInterruptEndsTheWaitForAPipe(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, row := range []struct{ verb, file string }{
		{"merge", "load.json"}, {"report", "run.json"}, {"check", "run.json"}, {"check", "history.jsonl"},
	} {
		pipe := filepath.Join(t.TempDir(), row.file)
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, said := call(ctx, cli.Config{}, row.verb, pipe); code != cli.ExitInterrupted || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: exit %d, %s", row.verb, code, said)
		}
		release(t, pipe)
	}
}

// release lets whoever reads a pipe, or will, see its end.
func release(t *testing.T, pipe string) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		file, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil { // there is a reader
			_ = file.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody reads %s: %v", pipe, err)
		}
	}
}
