package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
)

// The exit codes. Where more than one fits: 130, then 2, 1, 4, 3.
const (
	ExitOK           = 0
	ExitUnexpected   = 1
	ExitUsage        = 2
	ExitInconclusive = 3
	ExitCouldNotRun  = 4
	ExitInterrupted  = 130 // 128 + SIGINT, as shells say it
)

// ExitCode is an exit code and what it means.
type ExitCode struct {
	Code  int
	Means string
}

// ExitCodes lists them, for help and README.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{ExitOK, "everything as expected"},
		{ExitUnexpected, "a verdict was not as expected, or the gate closed"},
		{ExitUsage, "the command line, the environment or an input file was refused"},
		{ExitInconclusive, "a verdict is inconclusive"},
		{ExitCouldNotRun, "a target, the store or the machine could not do it"},
		{ExitInterrupted, "interrupted"},
	}
}

func exitTable() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, c := range ExitCodes() {
		fmt.Fprintf(&b, "  %-4d %s\n", c.Code, c.Means)
	}
	b.WriteString("  (go run turns every failure into 1: for a gate, use the built binary.)\n")
	return b.String()
}

// usageError is a mistake of the caller's: refused before anything ran. Its text
// is one line that names the next step.
type usageError struct {
	err  error
	flag string // the one that it is about, if the text does not begin with it
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{err: fmt.Errorf(format, args...)} }

// about says which flag a refusal is about.
func about(flag string, err error) error { return &usageError{err: err, flag: flag} }

// verdictError ends a verb whose exit line has been written.
type verdictError struct{ code int }

func (e verdictError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// readerGone: whoever read our output has had enough, as head does. That is no
// error of ours.
func readerGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
