package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// condition knows what a script can need of the machine.
func condition(name string) (bool, error) {
	switch name {
	case "redis-server": // and the means to find a process's children
		_, err := exec.LookPath("redis-server")
		_, proc := os.Stat("/proc/self/task")
		return err == nil && proc == nil, nil
	case "full-disk":
		_, err := os.Stat("/dev/full")
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// disturb starts a program, waits until its stderr has a line that matches, sends
// SIGINT to it or SIGKILL to its redis-server, and checks its exit code. What it
// wrote is in the files out and err.
func disturb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: disturb interrupt|kill-store PATTERN CODE PROGRAM ARGS…")
	}
	cmd := exec.Command(ts.MkAbs(args[3]))
	if path, err := exec.LookPath(args[3]); err == nil {
		cmd = exec.Command(path)
	}
	cmd.Args = args[3:]
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), scriptEnv(ts)
	var out, said bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Check(awaitLine(io.TeeReader(stderr, &said), regexp.MustCompile(args[1]), func() error { return strike(args[0], cmd.Process) }))
	_ = cmd.Wait() // the code is looked at
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("err"), said.Bytes(), 0o644))
	if code := strconv.Itoa(cmd.ProcessState.ExitCode()); code != args[2] {
		ts.Fatalf("exit code %s, want %s\n%s%s", code, args[2], out.String(), said.String())
	}
}

func scriptEnv(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GOCOVERDIR", "GORACE"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

// awaitLine acts once, at the first line that matches, and reads on to the end.
func awaitLine(r io.Reader, pattern *regexp.Regexp, act func() error) error {
	acted := false
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if !acted && pattern.MatchString(lines.Text()) {
			acted = true
			if err := act(); err != nil {
				return err
			}
		}
	}
	if !acted {
		return fmt.Errorf("no line of stderr matches %s", pattern)
	}
	return nil
}

func strike(how string, p *os.Process) error {
	if how == "interrupt" {
		return p.Signal(os.Interrupt)
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.Pid))
	if err != nil {
		return err
	}
	for _, task := range tasks {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", p.Pid, task.Name()))
		for _, child := range strings.Fields(string(children)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				return err
			}
			p, err := os.FindProcess(pid)
			if err != nil {
				return err
			}
			return p.Kill()
		}
	}
	return errors.New("no child to kill")
}

// TestReaderLeaves: head takes a line and goes. That is no error, and no stack.
func TestReaderLeaves(t *testing.T) {
	path, err := exec.LookPath("idemrace")
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close() // every write fails, from the first
	defer w.Close()
	var said bytes.Buffer
	cmd := exec.Command(path, "run", "--scenario", "sequential-retry", "--store", "embedded")
	cmd.Stdout, cmd.Stderr = w, &said
	cmd.Env = append(os.Environ(), "GORACE="+quickExit)
	if err := cmd.Run(); err != nil || said.Len() > 0 {
		t.Errorf("got %v, and on stderr %q; want neither", err, said.String())
	}
}
