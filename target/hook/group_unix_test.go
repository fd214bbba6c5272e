//go:build unix

package hook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/idemrace/idemrace/target/hook"
)

// fifo makes a named pipe: to open it for reading waits for a writer.
func fifo(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// opened calls do when somebody reads from the pipe.
func opened(path string, do func()) {
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		do()
		w.Close()
	}
}

var errNeverHeld = errors.New("the command never held the pipe")

// held returns a pipe's end that gives EOF when nobody of a command's is left: the
// command and all its children hold the other end.
func held(t *testing.T, dir string) (wait func() error) {
	t.Helper()
	path := fifo(t, dir, "held")
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return func() error {
		if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			return err
		}
		said := make([]byte, 100)
		n, err := r.Read(said)
		if err != nil || !strings.HasPrefix(string(said[:n]), "here") {
			return errors.Join(errNeverHeld, err)
		}
		if n, err := r.Read(said); n > 0 || err == nil || err.Error() != "EOF" {
			return errors.Join(errors.New("somebody still holds the pipe"), err)
		}
		return nil
	}
}

func TestNothingOfACommandIsLeft(t *testing.T) {
	const grandchild = "exec 9>held; echo here >&9; (sleep 600; true) "
	cases := []struct {
		reason, command string
		timeout         time.Duration
		want            string // of the error; "" if none
	}{
		{"at its timeout", grandchild, 200 * time.Millisecond, "it took longer than"},
		{"at its timeout, deaf to friendly signals", "trap '' TERM INT HUP; " + grandchild, 200 * time.Millisecond, "it took longer than"},
		{"when it fails", grandchild + ">/dev/null 2>&1 & exit 3", 0, "exit status 3"},
		{"when it has ended, and keeps its output", grandchild + "& true", 0, "in the background"},
		{"when it has ended, silently", "exec 9>held; echo here >&9; sleep 600 >/dev/null 2>&1 & true", 0, ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			for err := errNeverHeld; errors.Is(err, errNeverHeld); c.timeout *= 4 {
				err = leaves(t, hook.Step{Command: c.command, Timeout: c.timeout}, c.want)
				if err != nil && (c.timeout == 0 || c.timeout > 20*time.Second || !errors.Is(err, errNeverHeld)) {
					t.Fatal(err)
				}
			}
		})
	}
}

// leaves says what is wrong with how a step ends. errNeverHeld: its time was too
// short for this machine.
func leaves(t *testing.T, s hook.Step, want string) error {
	dir := t.TempDir()
	wait := held(t, dir)
	_, err := hook.Runner{Dir: dir, Env: os.Environ()}.Run(context.Background(), []hook.Step{s}, hook.PerRun, hook.Data{})
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		return fmt.Errorf("got %w, want %q", err, want)
	}
	return wait()
}

// The end of the caller's context is not called a timeout.
func TestTheCallerEndsAStep(t *testing.T) {
	why := errors.New("ctrl-c")
	for _, s := range []hook.Step{
		{Command: "echo $$ >&2; cat go; sleep 600"},
		{HTTP: &hook.HTTP{URL: "/"}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		base := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(why); <-r.Context().Done() })
		dir := t.TempDir()
		if s.Command != "" {
			go opened(fifo(t, dir, "go"), func() { cancel(why) })
		}
		_, err := hook.Runner{Dir: dir, Env: os.Environ()}.Run(ctx, []hook.Step{s}, hook.PerRun, hook.Data{Base: base})
		if !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
	}
}
