package unrun

import (
	"os"
	"syscall"
)

// The numbers are the same on all processors that Go runs on; package syscall is
// older than they are.
const (
	pidfdOpen  = 434 // Linux 5.3
	pidfdGetfd = 438 // Linux 5.6
)

// parentStderr is a copy of our parent's own standard error. Opening
// /proc/PPID/fd/2 would not do: in a file on disk that gets an offset of its own,
// and go would write over our line.
func parentStderr() (*os.File, error) {
	parent, _, errno := syscall.Syscall(pidfdOpen, uintptr(os.Getppid()), 0, 0)
	if errno != 0 {
		return nil, errno
	}
	defer syscall.Close(int(parent))
	fd, _, errno := syscall.Syscall(pidfdGetfd, parent, 2, 0)
	if errno != 0 { // a machine that forbids to look into one's own processes
		return nil, errno
	}
	return os.NewFile(fd, "stderr of go"), nil
}
