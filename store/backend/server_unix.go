//go:build unix && !linux

package backend

import (
	"os"
	"syscall"
)

// procAttr: a process group of its own. There is no death signal outside Linux:
// a killed idemrace leaves its server behind there.
func procAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
