package faultproxy_test

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// ipLocalPortRange is IP_LOCAL_PORT_RANGE of Linux 6.3: from which ports the
// kernel may choose for this socket.
const ipLocalPortRange = 51

// While a proxy is down its port goes to nobody who asks the kernel for any
// port, not even to one whose only choice it is: else this cell's clients could
// meet another cell's server there.
func TestThePortIsKeptWhileDown(t *testing.T) {
	p := listen(t, upstream(t, echo))
	_, text, _ := net.SplitHostPort(p.Addr())
	port, err := strconv.Atoi(text)
	must(t, err)
	p.Down()
	if err := bindOnly(t, port); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("while down: %v, want address in use", err)
	}
	must(t, p.Up())
	must(t, p.Close())
	if err := bindOnly(t, port); err != nil {
		t.Errorf("after Close: %v, want the port given back", err)
	}
}

// bindOnly asks for any port, and allows only this one.
func bindOnly(t *testing.T, port int) error {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(t, err)
	defer syscall.Close(fd)
	must(t, syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, ipLocalPortRange, port<<16|port); err != nil {
		t.Skip("a Linux before 6.3 cannot be asked: ", err)
	}
	return syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
}
