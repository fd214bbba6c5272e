// Command idemrace races implementations of Idempotency-Key and counts the
// charges. See package cli, which is the program.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/idemrace/idemrace/cli"
)

func main() { os.Exit(run()) }

// sameSignal is for how long after the first signal others count as the same one:
// GNU timeout signals its child and then the whole group, and a terminal and a
// supervisor may both pass one on. A person who presses again is slower.
const sameSignal = 500 * time.Millisecond

// run ends the context at the first signal; a later one ends the process, as
// if nobody listened. A reader that goes away is an error of writing, not the
// death of a process that has a server to stop.
func run() int {
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	return cli.Run(ctx, cli.Config{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ()})
}
