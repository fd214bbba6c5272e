package backend

import (
	"os"
	"syscall"
)

// procAttr: a process group of its own, and the kernel kills the server when we
// die without closing it.
func procAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
