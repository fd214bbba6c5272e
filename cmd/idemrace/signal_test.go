package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestTwoSignalsAreOne: GNU timeout signals its child and then the child's group.
// The second signal must not end the process before it has written its results.
func TestTwoSignalsAreOne(t *testing.T) {
	path, err := exec.LookPath("idemrace")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "run", "--store", "embedded", "--impl", "all", "--parallel", "1", "--format", "json", "-v")
	cmd.Env = append(os.Environ(), "GORACE="+quickExit)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	if _, err := said.ReadString('\n'); err != nil { // it is under way
		t.Fatal(err)
	}
	for range 20 {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // signals at one moment are one to the kernel, too
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	var run struct {
		Interrupted bool
		Cells       []json.RawMessage
	}
	if err := json.NewDecoder(stdout).Decode(&run); err != nil || !run.Interrupted || len(run.Cells) == 0 {
		t.Errorf("no results: %v, interrupted %v, %d cells", err, run.Interrupted, len(run.Cells))
	}
	_, _ = io.Copy(io.Discard, stdout)
	_ = cmd.Wait() // the code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}
