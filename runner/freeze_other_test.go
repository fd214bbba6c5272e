//go:build !unix

package runner_test

import (
	"os"
	"testing"
)

// freeze is not to be had here.
func freeze(t *testing.T, _ *os.Process) { t.Skip("needs signals: SIGSTOP") }
