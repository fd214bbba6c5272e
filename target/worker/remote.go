package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// remote is a worker that somebody else runs, at a URL. What can be done to it,
// commands do.
type remote struct {
	name     string
	base     string
	control  Control
	shell    commands
	ready    probe
	out      *ring
	patience time.Duration // with a killed one that still listens

	mu      sync.Mutex // not held while waiting for readiness
	frozen  bool
	killed  bool // by us, and not started again
	started bool // by us: it runs until we kill it
	closed  bool
}

func newRemote(running context.Context, cfg Config, name, base string, out *ring) member {
	hint := " (is the service running?)"
	if cfg.Spec.Control.Start != "" {
		hint = " (workers.control.start has been run)"
	}
	return &remote{
		name: name, base: base, control: cfg.Spec.Control, out: out, patience: endsWithin,
		shell: commands{dir: cfg.dir(), env: cfg.environ(name, "URL="+base), out: out, running: running},
		ready: newProbe(cfg.Spec, cfg.TLS, hint),
	}
}

func (r *remote) url() string { return r.base }

func (r *remote) up(ctx context.Context) error {
	mark := r.out.mark()
	err := r.begin(ctx)
	if err == nil {
		err = r.ready.await(ctx, r.base, nil)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotReady) && r.out.mark() > mark:
		return fmt.Errorf("worker %s %w; %s", r.name, err, r.out.lastWords(mark))
	case errors.Is(err, ErrNotReady):
		return fmt.Errorf("worker %s %w", r.name, err)
	}
	return fmt.Errorf("worker %s was not ready yet: %w", r.name, err)
}

// begin resumes it, or starts it if it is dead. Without a command for that, somebody
// else may be starting it.
func (r *remote) begin(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case r.frozen:
		return r.thaw(ctx)
	case r.control.Start == "" || !r.killed && listening(r.base):
		return nil
	}
	if err := r.run(ctx, "start", r.control.Start); err != nil {
		return err
	}
	r.killed, r.started = false, true
	return nil
}

// run runs one of the commands.
func (r *remote) run(ctx context.Context, what, command string) error {
	if command == "" {
		return fmt.Errorf("%s: %w", what, ErrUnable)
	}
	if err := r.shell.run(ctx, command); err != nil {
		return fmt.Errorf("control.%s: %w", what, err)
	}
	return nil
}

// act runs a command that changes what we know of the worker.
func (r *remote) act(what, command string, change func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.run(r.shell.running, what, command); err != nil {
		return fmt.Errorf("worker %s: %w", r.name, err)
	}
	change()
	return nil
}

func (r *remote) kill() error {
	err := r.act("kill", r.control.Kill, func() { r.killed, r.frozen, r.started = true, false, false })
	if err == nil && !within(r.patience, func() bool { return !listening(r.base) }) {
		err = fmt.Errorf("worker %s: control.kill has been run, but somebody still listens on %s", r.name, hostPort(r.base))
	}
	return err
}

func (r *remote) pause() error {
	return r.act("pause", r.control.Pause, func() { r.frozen = true })
}

func (r *remote) resume() error {
	return r.act("resume", r.control.Resume, func() { r.frozen = false })
}

func (r *remote) thaw(ctx context.Context) error {
	if err := r.run(ctx, "resume", r.control.Resume); err != nil {
		return err
	}
	r.frozen = false
	return nil
}

func (r *remote) died() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed || listening(r.base) {
		return ""
	}
	return "nothing listens on " + hostPort(r.base)
}

// close leaves running what ran before we came, and kills what we have started.
func (r *remote) close(bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	defer r.shell.close()
	ctx := context.Background() // running has ended; the commands have a bound of their own
	var err error
	switch {
	case r.started && r.control.Kill != "":
		err = r.run(ctx, "kill", r.control.Kill)
	case r.frozen:
		err = r.thaw(ctx)
	}
	if err != nil {
		return fmt.Errorf("worker %s: %s", r.name, strings.TrimSpace(err.Error()))
	}
	return nil
}
