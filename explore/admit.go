package explore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
)

// admitWord is the hidden first argument of a child that makes a dry run.
const admitWord = "__explore-admit"

// admitPatience is how long a dry run may go without calling a port. The last resort:
// what blocks is named within milliseconds.
const admitPatience = 1500 * time.Millisecond

// mark begins each line that a child says to its parent; a coordinator may print too.
const mark = "\x01admit "

// asked is what a child is told.
type asked struct {
	Name        string
	HonoursKeys bool
	Lease       time.Duration
	Retention   time.Duration
	WaitLimit   time.Duration
	CompleteFor time.Duration
	MaxRun      time.Duration
	MaxResult   int
	StoreDown   reservation.Policy
	OnError     reservation.OnError
	Takeover    reservation.Takeover
}

// Admit refuses a coordinator whose steps cannot be controlled: one that starts
// goroutines, waits outside its ports, or goes another way when the same schedule is
// run again. The error wraps ErrUncontrollable and names the place.
//
// It makes a dry run in a child process, for what blocks cannot be stopped: the
// program that runs is started again with a hidden argument, and main must hand its
// arguments to AdmitChild before anything else. Of cfg count Entry, Coordinator and
// HonoursKeys. The answer comes within two seconds, unless the machine is overloaded.
func Admit(ctx context.Context, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	c := cfg.Coordinator
	question, err := json.Marshal(asked{cfg.Entry.Name, cfg.HonoursKeys, c.Lease, c.Retention, c.WaitLimit, c.CompleteFor, c.MaxRun, c.MaxResult, c.StoreDown, c.OnError, c.Takeover})
	if err != nil {
		return fmt.Errorf("explore: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("explore: the dry run needs this program's own file: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	child := exec.CommandContext(ctx, self, admitWord, string(question))
	child.WaitDelay = time.Second
	var said bytes.Buffer
	child.Stderr = &said
	out, err := child.StdoutPipe()
	if err != nil {
		return fmt.Errorf("explore: %w", err)
	}
	if err := child.Start(); err != nil {
		return fmt.Errorf("explore: the dry run could not start: %w", err)
	}
	verdict := hear(ctx, out)
	cancel()
	_ = child.Wait() // it was ended, or has ended
	switch {
	case verdict == "ok":
		return nil
	case context.Cause(ctx) != nil && verdict == "":
		return fmt.Errorf("explore: the dry run of %s gave no answer: %s", cfg.Entry.Name, lastLines(said.String()))
	}
	return fmt.Errorf("explore: %w: %s %s", ErrUncontrollable, cfg.Entry.Name, verdict)
}

// hear reads what the child says until it has a verdict, "" if it ends without.
func hear(ctx context.Context, out io.Reader) string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scan := bufio.NewScanner(out)
		for scan.Scan() {
			if text, ours := strings.CutPrefix(scan.Text(), mark); ours {
				select {
				case lines <- text:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	patience := time.NewTimer(2 * admitPatience) // a new process takes its time
	defer patience.Stop()
	for {
		select {
		case text, more := <-lines:
			if !more || text != "." {
				return text
			}
			patience.Reset(admitPatience)
		case <-patience.C:
			return "goes on without calling a port, and no place could be found"
		case <-ctx.Done():
			return ""
		}
	}
}

// lastLines is the end of what a child said in its distress.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(len(lines), 3)], " / ")
}

// AdmitChild makes the dry run if the arguments, with the program's name first, ask
// for it; else it does nothing. main calls it before anything else and exits with the
// code if it was handled. Lines for the parent go to out, which must be the process's
// standard output; entries are all that can be asked for.
func AdmitChild(args []string, out io.Writer, entries []impl.Entry) (handled bool, code int) {
	if len(args) != 3 || args[1] != admitWord {
		return false, 0
	}
	var q asked
	if err := json.Unmarshal([]byte(args[2]), &q); err != nil {
		return true, 2
	}
	i := slices.IndexFunc(entries, func(e impl.Entry) bool { return e.Called(q.Name) })
	if i < 0 {
		fmt.Fprintf(out, "%sis not among the coordinators of this program\n", mark)
		return true, 2
	}
	cfg := Config{Entry: entries[i], HonoursKeys: q.HonoursKeys, Preemptions: Unbounded, Faults: 1, Crashes: 1, Expiries: 1, NoVisited: true, MaxRuns: admitRuns}
	cfg.Coordinator = reservation.Config{Lease: q.Lease, Retention: q.Retention, WaitLimit: q.WaitLimit, CompleteFor: q.CompleteFor,
		MaxRun: q.MaxRun, MaxResult: q.MaxResult, StoreDown: q.StoreDown, OnError: q.OnError, Takeover: q.Takeover}
	verdict := newExaminer(out).examine(cfg)
	fmt.Fprintf(out, "%s%s\n", mark, verdict)
	return true, 0
}
