package storetest

import "syscall"

// dieWithParent: a test binary that is killed or times out leaves no server.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
