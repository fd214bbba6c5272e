package faultproxy

import (
	"fmt"
	"syscall"
)

// reserve takes a free loopback port and keeps it until release: bound, but
// never listening, so that connections to it are refused unless somebody else
// listens on it. Linux lets a listener beside it when both set SO_REUSEADDR, as
// Go's do, and gives a bound port to nobody who asks for any port.
//
// Without it a port that is down could be given to another cell's server, and
// this cell's clients would talk to that.
func reserve() (addr string, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	port, err := bind(fd)
	if err != nil {
		syscall.Close(fd)
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port), func() { syscall.Close(fd) }, nil
}

func bind(fd int) (port int, err error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return name.(*syscall.SockaddrInet4).Port, nil
}
