//go:build unix

package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
)

// process is a worker that runs as a process group of this machine.
type process struct {
	name    string
	command string
	dir     string
	environ func(port int) []string
	polite  func(*life) // ends it as Spec.StopWithin says
	ready   probe
	out     *ring

	mu     sync.Mutex // not held while waiting for readiness
	port   port
	now    *life // the newest; nil before the first
	frozen bool
	closed bool
}

func newProcess(cfg Config, name string, out *ring) (member, error) {
	port, err := reserve()
	if err != nil {
		return nil, err
	}
	return &process{
		name: name, command: cfg.Spec.Command, dir: cfg.dir(), port: port, out: out,
		environ: func(port int) []string { return cfg.environ(name, fmt.Sprintf("PORT=%d", port)) },
		polite:  func(l *life) { l.stop(cfg.Spec.stopWithin()) },
		ready:   newProbe(cfg.Spec, cfg.TLS, " (does the service take its port from PORT?)"),
	}, nil
}

func (p *process) url() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("http://127.0.0.1:%d", p.port.number)
}

// up tries another port once if the first is taken. That happens to services that
// do not set SO_REUSEADDR, so the second is not kept from them.
func (p *process) up(ctx context.Context) error {
	err := p.try(ctx)
	if errors.Is(err, errTaken) && p.move() == nil {
		err = p.try(ctx)
	}
	if err != nil {
		return fmt.Errorf("worker %s %w", p.name, err)
	}
	return nil
}

// errTaken is ErrEnded for want of a port.
var errTaken = fmt.Errorf("%w: its port is taken", ErrEnded)

func (p *process) try(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("was not started: %w", err)
	}
	l, fresh, err := p.launch()
	if err != nil {
		return fmt.Errorf("cannot be started: %w", err)
	}
	err = p.ready.await(ctx, p.url(), l.done)
	said := p.out.lastWords(l.mark)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDied) && !fresh && !l.asked.Load():
		return p.try(ctx) // it was dying when we came
	case errors.Is(err, errDied) && l.asked.Load():
		return errors.New("was killed before it was ready")
	case errors.Is(err, errDied) && noPort(p.out.since(l.mark, ringSize)):
		return fmt.Errorf("%w: %s; %s", errTaken, l.why, said)
	case errors.Is(err, errDied):
		return fmt.Errorf("%w: %s; %s", ErrEnded, l.why, said)
	case errors.Is(err, ErrNotReady):
		return fmt.Errorf("%w; %s", err, said)
	}
	return fmt.Errorf("was not ready yet: %w", err)
}

// launch returns the life that is, thawed, or begins a fresh one.
func (p *process) launch() (l *life, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, ErrClosed
	}
	if p.now.alive() {
		p.thaw()
		return p.now, false, nil
	}
	if l, err = begin(p.command, p.dir, p.environ(p.port.number), p.out); err != nil {
		return nil, false, err
	}
	p.now, p.frozen = l, false
	return l, true, nil
}

// move gives the worker another port, kept for nobody.
func (p *process) move() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	other, err := anyPort()
	if err == nil {
		p.port.release()
		p.port = other
	}
	return err
}

// noPort tells from a worker's words that its port was taken.
func noPort(said string) bool {
	said = strings.ToLower(said)
	return strings.Contains(said, "address already in use") || strings.Contains(said, "eaddrinuse") ||
		strings.Contains(said, "address in use")
}

func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.now.alive() {
		return nil
	}
	p.now.kill()
	p.frozen = false
	return p.gone()
}

// gone waits until the newest life has ended and nobody listens on its port.
func (p *process) gone() error {
	if err := p.now.await(); err != nil {
		return fmt.Errorf("worker %s is still there after SIGKILL: %w", p.name, err)
	}
	base := fmt.Sprintf("http://127.0.0.1:%d", p.port.number)
	if !within(endsWithin, func() bool { return !listening(base) }) {
		return fmt.Errorf("worker %s is gone, but somebody still listens on its port %d (a process that has left the worker's group?)", p.name, p.port.number)
	}
	return nil
}

func (p *process) pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.now.alive() {
		return fmt.Errorf("worker %s %w", p.name, ErrNotRunning)
	}
	p.frozen = true
	p.now.signal(syscall.SIGSTOP)
	still := func() bool { return !p.now.alive() || standsStill(p.now.group) }
	if !within(endsWithin, still) {
		return fmt.Errorf("worker %s does not stand still %v after SIGSTOP", p.name, endsWithin)
	}
	if !p.now.alive() {
		return fmt.Errorf("worker %s %w: %s", p.name, ErrNotRunning, p.now.why)
	}
	return nil
}

func (p *process) resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.now.alive() {
		return fmt.Errorf("worker %s %w", p.name, ErrNotRunning)
	}
	p.thaw()
	return nil
}

func (p *process) thaw() {
	if p.frozen {
		p.now.signal(syscall.SIGCONT)
		p.frozen = false
	}
}

func (p *process) died() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil || p.now.alive() || p.now.asked.Load() {
		return ""
	}
	return p.now.why
}

// close does not thaw what is frozen: it would go on with what it was doing.
func (p *process) close(atOnce bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	defer p.port.release()
	if !p.now.alive() {
		return nil
	}
	if atOnce || p.frozen {
		p.now.kill()
	} else {
		p.polite(p.now)
	}
	return p.gone()
}
