//go:build !linux

package unrun

import (
	"errors"
	"os"
)

func parentStderr() (*os.File, error) { return nil, errors.ErrUnsupported }
