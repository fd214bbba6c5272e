package worker

import (
	"fmt"
	"sync"
	"syscall"
)

// reserve takes a free loopback port and keeps it until release: bound, but never
// listening, so that connections to it are refused unless the worker listens. Linux
// lets a listener beside it when both have set SO_REUSEADDR, as most runtimes do,
// and gives a bound port to nobody who asks for any port. So a worker that is dead
// finds its port free when it comes back.
func reserve() (port, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return port{}, fmt.Errorf("reserve a port: %w", err)
	}
	number, err := bind(fd)
	if err != nil {
		_ = syscall.Close(fd)
		return port{}, fmt.Errorf("reserve a port: %w", err)
	}
	return port{number: number, release: sync.OnceFunc(func() { _ = syscall.Close(fd) })}, nil
}

func bind(fd int) (number int, err error) {
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
