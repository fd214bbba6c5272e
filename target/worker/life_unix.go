//go:build unix

package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

// errStays: SIGKILL was not enough.
var errStays = errors.New("its process group does not end")

// life is one run of a worker: from its start to the end of its group. The group
// ends with its leader.
type life struct {
	cmd   *exec.Cmd
	group int
	mark  int64 // of the output, at the start
	guard *guard

	asked  atomic.Bool // it ends because we want it
	gently atomic.Bool // what is left when the leader has ended may go on for a while

	done chan struct{} // closed when nothing is left; then:
	why  string        // how the leader ended
	left bool          // something could not be ended
}

// begin starts a command as the leader of a new group, below a guard. The shell
// that leads hands the guard its number before it becomes the command, so that no
// moment is left in which we could die and it live on.
func begin(command, dir string, env []string, out *ring) (*life, error) {
	if err := notDir(dir); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	g, err := newGuard()
	if err != nil {
		r.Close()
		return nil, err
	}
	l := &life{guard: g, mark: out.mark(), done: make(chan struct{})}
	l.cmd = exec.Command(shell, "-c", `echo $$ >&3 && exec 3>&- && exec "$0" -c "$1"`, shell, command)
	l.cmd.Dir, l.cmd.Env = dir, env // never nil, which would inherit ours: it has WORKER
	l.cmd.Stdout, l.cmd.Stderr = w, w
	l.cmd.ExtraFiles = []*os.File{g.line}
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := l.cmd.Start(); err != nil {
		r.Close()
		g.end()
		return nil, err
	}
	l.group = l.cmd.Process.Pid
	go l.watch(r, out)
	return l, nil
}

// watch sees a life to its end.
func (l *life) watch(r *os.File, out *ring) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(out, r) // ends with the writers, or with the deadline below
	}()
	_ = l.cmd.Wait() // its state says all
	l.why = l.cmd.ProcessState.String()
	for l.gently.Load() && !extinct(l.group) {
		time.Sleep(lookEvery)
	}
	l.signal(syscall.SIGKILL)
	l.left = !within(endsWithin, func() bool { return extinct(l.group) })
	_ = r.SetReadDeadline(time.Now().Add(pipeFor))
	<-read
	_ = r.Close()
	l.guard.end()
	close(l.done)
}

func (l *life) alive() bool {
	if l == nil {
		return false
	}
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

func (l *life) signal(s syscall.Signal) { _ = syscall.Kill(-l.group, s) }

func (l *life) kill() {
	l.asked.Store(true)
	l.gently.Store(false)
	l.signal(syscall.SIGKILL)
}

// stop asks the group to end, and kills it if it has not by then.
func (l *life) stop(grace time.Duration) {
	l.asked.Store(true)
	l.gently.Store(true)
	l.signal(syscall.SIGTERM)
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-l.done:
	case <-late.C:
		l.kill()
	}
}

// await returns when nothing is left of a killed life.
func (l *life) await() error {
	late := time.NewTimer(2 * endsWithin)
	defer late.Stop()
	select {
	case <-l.done:
		if l.left {
			return errStays
		}
		return nil
	case <-late.C:
		return errStays
	}
}

// notDir says what is wrong with a folder: the system would blame the shell.
func notDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("workers.dir: %s is no folder", dir)
	}
	if err != nil {
		return fmt.Errorf("workers.dir: %w", err)
	}
	return nil
}
