//go:build unix

package httptarget

import (
	"net"
	"syscall"
)

// alive asks the kernel whether a connection that rests has been closed by its other
// end, or has something on it that nobody asked for. It does not wait.
func alive(c net.Conn) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, failed := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = failed == syscall.EAGAIN || failed == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && quiet
}
