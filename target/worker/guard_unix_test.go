//go:build unix

package worker

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// Whatever becomes of us, no worker lives on: not its children, and not a frozen one.
func TestWorkersDoNotOutliveWhoStartedThem(t *testing.T) {
	for _, args := range [][]string{nil, {"frozen"}} {
		p := newPlace(t)
		cfg := p.config("")
		self, _ := os.Executable()
		cmd := exec.Command(self, append([]string{"boss", held + `trap "" TERM HUP; sleep 600 & "$SELF" serve; true`}, args...)...)
		cmd.Dir, cmd.Env, cmd.Stderr = p.dir, cfg.Environ, os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		p.awaitSomebody(t)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if line != "ready\n" {
			t.Errorf("it said %q", line)
		}
		p.expectNobody(t)
	}
}
