package worker

import (
	"errors"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

func TestTheStatesOfAGroup(t *testing.T) {
	p := newPlace(t)
	c := start(t, p.config(`"$SELF" count a & "$SELF" serve`))
	group := ask(t, c, "w1").Group
	expect := func(when string, still, gone bool) {
		t.Helper()
		if standsStill(group) != still || extinct(group) != gone {
			t.Errorf("%s: it stands still: %v, it is extinct: %v", when, standsStill(group), extinct(group))
		}
	}
	expect("running", false, false)
	if err := c.Pause("w1"); err != nil {
		t.Fatal(err)
	}
	expect("paused", true, false)
	if err := c.Resume("w1"); err != nil {
		t.Fatal(err)
	}
	if !within(patience, func() bool { return !standsStill(group) }) {
		t.Error("resumed, and it stands still")
	}
	if err := c.Kill("w1"); err != nil {
		t.Fatal(err)
	}
	expect("killed", true, true)
}

// A zombie that nobody reaps is in its group for ever, and keeps nobody.
func TestAGroupOfZombiesIsExtinct(t *testing.T) {
	cmd := exec.Command(shell, "-c", "exit")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	stat := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat"
	zombie := func() bool { state, _, ok := readStat(stat); return ok && state == "Z" }
	if !within(patience, zombie) {
		t.Fatal("it is no zombie")
	}
	if err := syscall.Kill(-cmd.Process.Pid, 0); errors.Is(err, syscall.ESRCH) {
		t.Error("the kernel has forgotten it, so this test shows nothing")
	}
	if !extinct(cmd.Process.Pid) {
		t.Error("it is said to live")
	}
}
