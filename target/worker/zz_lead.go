package worker

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

type process struct {
	cfg   Config
	name  string
	out   *ring
	port  string
	probe probe

	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{}
	killed bool
	frozen bool
	why    string
}

func newProcess(cfg Config, name string, out *ring) (member, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return &process{cfg: cfg, name: name, out: out, port: port, probe: newProbe(cfg.Spec, cfg.TLS, " (does the service take its port from PORT?)")}, nil
}

func (p *process) url() string { return "http://127.0.0.1:" + p.port }

func (p *process) alive() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) up(ctx context.Context) error {
	p.mu.Lock()
	if p.frozen {
		p.frozen = false
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGCONT)
	}
	if !p.alive() {
		cmd := exec.Command("sh", "-c", p.cfg.Spec.Command)
		cmd.Dir, cmd.Env = p.cfg.Spec.Dir, p.cfg.environ(p.name, "PORT="+p.port)
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.out, p.out, time.Second
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			p.mu.Unlock()
			return err
		}
		ended := make(chan struct{})
		p.cmd, p.ended, p.killed, p.why = cmd, ended, false, ""
		go func() {
			err := cmd.Wait()
			p.mu.Lock()
			if !p.killed {
				p.why = fmt.Sprint(err)
				if err == nil {
					p.why = "exit status 0"
				}
			}
			p.mu.Unlock()
			close(ended)
		}()
	}
	ended := p.ended
	p.mu.Unlock()
	if err := p.probe.await(ctx, p.url(), ended); err != nil {
		said := strings.Join(strings.Fields(p.out.since(0, 400)), " ")
		return fmt.Errorf("worker %s %w; it last said: %s", p.name, err, said)
	}
	return nil
}

func (p *process) kill() error {
	p.mu.Lock()
	if !p.alive() {
		p.mu.Unlock()
		return nil
	}
	p.killed = true
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	ended := p.ended
	p.frozen = false
	p.mu.Unlock()
	<-ended
	return nil
}

func (p *process) pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.alive() {
		return ErrNotRunning
	}
	p.frozen = true
	return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGSTOP)
}

func (p *process) resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.alive() {
		return ErrNotRunning
	}
	p.frozen = false
	return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGCONT)
}

func (p *process) died() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

func (p *process) close(atOnce bool) error {
	p.mu.Lock()
	if !p.alive() {
		p.mu.Unlock()
		return nil
	}
	p.killed = true
	if !atOnce && !p.frozen {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	}
	ended := p.ended
	p.mu.Unlock()
	if !atOnce {
		select {
		case <-ended:
		case <-time.After(p.cfg.Spec.stopWithin()):
		}
	}
	return p.kill()
}

type remote struct {
	cfg   Config
	name  string
	base  string
	probe probe
}

func newRemote(_ context.Context, cfg Config, name, base string, _ *ring) member {
	return &remote{cfg, name, base, newProbe(cfg.Spec, cfg.TLS, "")}
}
func (r *remote) url() string                  { return r.base }
func (r *remote) up(ctx context.Context) error { return r.probe.await(ctx, r.base, nil) }
func (r *remote) kill() error                  { return r.run(r.cfg.Spec.Control.Kill) }
func (r *remote) pause() error                 { return r.run(r.cfg.Spec.Control.Pause) }
func (r *remote) resume() error                { return r.run(r.cfg.Spec.Control.Resume) }
func (r *remote) died() string                 { return "" }
func (r *remote) close(bool) error             { return nil }
func (r *remote) run(command string) error {
	if command == "" {
		return ErrUnable
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = r.cfg.environ(r.name, "URL="+r.base)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
