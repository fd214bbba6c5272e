//go:build unix

package runner_test

import (
	"os"
	"syscall"
	"testing"
)

// freeze stops a process where it stands.
func freeze(t *testing.T, p *os.Process) {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
}
