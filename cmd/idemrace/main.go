// Command idemrace races implementations of Idempotency-Key and counts the
// charges. See package cli, which is the program.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/idemrace/idemrace/cli"
)

func main() { os.Exit(run()) }

// run ends the context at the first signal; the second one ends the process, as
// if nobody listened. A reader that goes away is an error of writing, not the
// death of a process that has a server to stop.
func run() int {
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, cli.Config{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ()})
}
