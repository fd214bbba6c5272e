package worker

import (
	"errors"
	"syscall"
)

// refused tells that nobody listens from other reasons not to get an answer.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errSelf)
}
