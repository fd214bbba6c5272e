package worker

import (
	"errors"
	"syscall"
)

// wsaRefused is what Windows says; no other system has that number.
const wsaRefused = syscall.Errno(10061)

// refused tells that nobody listens from other reasons not to get an answer.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wsaRefused) || errors.Is(err, errSelf)
}
