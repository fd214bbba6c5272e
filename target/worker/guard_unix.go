//go:build unix

package worker

import (
	"os"
	"os/exec"
	"syscall"
)

// watchOver reads the number of a process group, then waits until nobody holds the
// other end of its input any more, which is when we have died, however we died.
const watchOver = `trap "" HUP INT TERM; read -r group || exit 0; read -r end; kill -9 "-$group"`

// guard is a small shell, in a group of its own, that kills a worker's group if
// this process dies without doing so.
//
// Refused: Linux's parent-death signal. It reaches the leader alone (and not what
// npm or a compound command has started), is sent when the thread ends that has
// started the worker, and exists nowhere else.
type guard struct {
	cmd  *exec.Cmd
	line *os.File // the other end of its input
}

func newGuard() (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command(shell, "-c", watchOver)
	cmd.Stdin, cmd.Env, cmd.Dir = r, []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	return &guard{cmd: cmd, line: w}, nil
}

// end ends the guard first, and only then lets go of its line.
func (g *guard) end() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	_ = g.line.Close()
}
