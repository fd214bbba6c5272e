package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// commands runs the commands of Control for one worker.
type commands struct {
	dir     string
	env     []string
	out     *ring
	running context.Context // the crew's

	mu      sync.Mutex
	readers []*os.File // of commands that have ended, but left somebody with their output
	reading sync.WaitGroup
}

// errLong: a command of Control took longer than ControlWithin.
var errLong = fmt.Errorf("it took more than %v and was killed (a worker that it starts must go to the background)", ControlWithin)

// run runs a command to its end. What it prints is the worker's output, and what it
// leaves in the background may go on printing until close.
func (c *commands) run(ctx context.Context, command string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ControlWithin, errLong)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	mark := c.out.mark()
	cmd := exec.CommandContext(ctx, shell, "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, w, w
	inGroup(cmd)
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return err
	}
	read := c.read(r)
	if err = cmd.Wait(); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	select { // its last words are on their way
	case <-read:
	case <-time.After(pipeFor):
	}
	return fmt.Errorf("%w; %s", err, c.out.lastWords(mark))
}

// read reads until nobody holds the other end, or close.
func (c *commands) read(r *os.File) (read <-chan struct{}) {
	ended := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers = append(c.readers, r)
	c.reading.Go(func() {
		defer close(ended)
		_, _ = io.Copy(c.out, r)
		c.forget(r)
	})
	return ended
}

// forget closes a reader that has come to its end.
func (c *commands) forget(r *os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.readers {
		if other == r {
			c.readers = append(c.readers[:i], c.readers[i+1:]...)
			_ = r.Close()
			return
		}
	}
}

// close stops reading.
func (c *commands) close() {
	c.mu.Lock()
	for _, r := range c.readers {
		if err := r.SetReadDeadline(time.Now()); errors.Is(err, os.ErrNoDeadline) {
			_ = r.Close()
		}
	}
	c.mu.Unlock()
	c.reading.Wait()
}
