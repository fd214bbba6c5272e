//go:build unix

package worker

import (
	"os/exec"
	"syscall"
)

// inGroup lets a command that is broken off be ended with its children.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
