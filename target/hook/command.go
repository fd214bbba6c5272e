package hook

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// afterEnd is how long the output of a command that has ended may be held open by
// what it has left in the background.
const afterEnd = time.Second

var errLeft = errors.New("it left a process in the background that holds its output open, and that was ended; what has to stay is a worker, or redirects its output and calls setsid")

func (r Runner) command(ctx context.Context, s Step, d Data) (got, error) {
	text, err := fill(s.Command, d)
	if err != nil {
		return got{}, fmt.Errorf("command: %w", err)
	}
	var out, complaint tail
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir, cmd.WaitDelay = r.Dir, afterEnd
	cmd.Env = append([]string{}, r.Env...) // never nil: that would be our own
	cmd.Stdout, cmd.Stderr = &out, &complaint
	inGroup(cmd)
	err = cmd.Run()
	endGroup(cmd)
	switch {
	case errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil:
		return got{}, fmt.Errorf("command: %w", errLeft)
	case err != nil:
		return got{}, fmt.Errorf("command: %w; %s", because(ctx, err), lastWords(out.text()+"\n"+complaint.text()))
	}
	return got{text: out.text(), cut: out.cut}, nil
}

// tail keeps the end of what is written to it.
type tail struct {
	kept []byte // at most twice textMax; the end of it counts
	cut  bool   // there was more
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.cut = t.cut || len(t.kept) > textMax
	if over := len(t.kept) - textMax; over > textMax {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	return string(t.kept[max(0, len(t.kept)-textMax):])
}
