//go:build unix

package worker

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWorkersThatRunAlready(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }
	one, two := httptest.NewServer(http.HandlerFunc(handler)), httptest.NewUnstartedServer(http.HandlerFunc(handler))
	two.Config.ErrorLog = log.New(io.Discard, "", 0) // to dial and hang up is no handshake
	two.StartTLS()
	defer one.Close()
	defer two.Close()
	for _, ready := range []string{"", "/health"} {
		c := start(t, Config{Spec: Spec{URLs: []string{one.URL + "/", two.URL + "/api"}, Ready: ready}})
		first, _ := c.URL("w1")
		second, _ := c.URL("w2")
		if first != one.URL || second != two.URL+"/api" || c.CanKill() || c.CanPause() || c.Died() != nil {
			t.Errorf("%s, %s, %v, %v, %v", first, second, c.CanKill(), c.CanPause(), c.Died())
		}
		for what, do := range map[string]func(string) error{"kill": c.Kill, "pause": c.Pause, "resume": c.Resume} {
			if err := do("w1"); !errors.Is(err, ErrUnable) || !strings.HasPrefix(err.Error(), "worker w1: "+what) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := errors.Join(c.Mend(t.Context()), c.Close()); err != nil {
			t.Error(err)
		}
		if !listening(one.URL) {
			t.Error("it was closed, and is not ours")
		}
	}
}

func TestAWorkerThatDoesNotRun(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	c, err := Start(t.Context(), Config{Spec: Spec{URLs: []string{gone.URL}, ReadyWithin: 50 * time.Millisecond}})
	want := "worker w1 is not ready after 50ms: nothing listens on " + hostPort(gone.URL) + " (is the service running?)"
	if c != nil || !errors.Is(err, ErrNotReady) || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestAWorkerElsewhereThatDies(t *testing.T) {
	s := httptest.NewServer(nil)
	c := start(t, Config{Spec: Spec{URLs: []string{s.URL}}})
	s.Close()
	if died := c.Died(); !slices.Equal(died, []string{"w1"}) || c.Why("w1") != "nothing listens on "+hostPort(s.URL) {
		t.Errorf("died: %v, %s", died, c.Why("w1"))
	}
}

// controlled is a service in the background, run by a shell and known by its pid.
func controlled(t *testing.T, p place) Config {
	t.Helper()
	cfg := p.config("")
	free, err := anyPort()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Spec.Command, cfg.Spec.URLs = "", []string{fmt.Sprintf("http://127.0.0.1:%d", free.number)}
	cfg.Spec.Control = Control{
		Start:  `echo "start $WORKER $URL $X" >>log; ` + held + `PORT=${URL##*:} "$SELF" serve & echo $! >pid`,
		Kill:   `echo kill >>log; kill -9 $(cat pid)`,
		Pause:  `echo pause >>log; kill -STOP $(cat pid)`,
		Resume: `echo resume >>log; kill -CONT $(cat pid)`,
	}
	cfg.Env = func(worker string) []string { return []string{"X=for-" + worker} }
	return cfg
}

func TestControl(t *testing.T) {
	p := newPlace(t)
	cfg := controlled(t, p)
	c := start(t, cfg)
	if !c.CanKill() || !c.CanPause() {
		t.Error("it can be killed and paused")
	}
	ask(t, c, "w1")
	steps := []error{
		c.Pause("w1"), c.Mend(t.Context()), // resumes
		c.Pause("w1"), c.Resume("w1"),
		c.Kill("w1"), c.Mend(t.Context()), // starts
		c.Mend(t.Context()), // nothing
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	if died := c.Died(); died != nil {
		t.Errorf("died: %v", died)
	}
	_, _ = get(t, c, "w1", "/exit")
	if !within(patience, func() bool { return slices.Equal(c.Died(), []string{"w1"}) }) {
		t.Errorf("died: %v", c.Died())
	}
	if err := c.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.Output("w1", 1000); strings.Count(got, "w1 serves\n") != 3 {
		t.Errorf("what it prints in the background is kept: %q", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	begin := "start w1 " + cfg.Spec.URLs[0] + " for-w1\n"
	want := begin + "pause\nresume\npause\nresume\nkill\n" + begin + begin + "kill\n"
	if log, _ := os.ReadFile(filepath.Join(p.dir, "log")); string(log) != want {
		t.Errorf("got\n%s\nwant\n%s", log, want)
	}
}

// Who was running before is left running, and not frozen.
func TestCloseLeavesWhatItFound(t *testing.T) {
	p := newPlace(t)
	cfg := controlled(t, p)
	cfg.Spec.Control.Pause, cfg.Spec.Control.Resume = "echo pause >>log", "echo resume >>log"
	s := httptest.NewServer(nil)
	defer s.Close()
	cfg.Spec.URLs = []string{s.URL}
	c := start(t, cfg)
	if err := errors.Join(c.Pause("w1"), c.Close()); err != nil {
		t.Error(err)
	}
	if log, _ := os.ReadFile(filepath.Join(p.dir, "log")); string(log) != "pause\nresume\n" {
		t.Errorf("got %s", log)
	}
}

func TestACommandOfControlFails(t *testing.T) {
	p := newPlace(t)
	s := httptest.NewServer(nil)
	defer s.Close()
	cfg := p.config("")
	cfg.Spec.Command, cfg.Spec.URLs = "", []string{s.URL}
	cfg.Spec.Control = Control{Kill: "echo out; echo no such container >&2; exit 5", Start: "exit 1", Pause: "true", Resume: held + "sleep 600; true"}
	c := start(t, cfg)
	if err := c.Kill("w1"); err == nil || err.Error() != "worker w1: control.kill: exit status 5; it last said: out no such container" {
		t.Errorf("got %v", err)
	}
	resumed := make(chan error)
	go func() { resumed <- c.Resume("w1") }()
	p.awaitSomebody(t)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-resumed; !errors.Is(err, ErrClosed) || !strings.HasPrefix(err.Error(), "worker w1: control.resume: ") {
		t.Errorf("got %v", err)
	}
}

func TestAKillThatKillsNobody(t *testing.T) {
	p := newPlace(t)
	s := httptest.NewServer(nil)
	defer s.Close()
	cfg := p.config("")
	cfg.Spec.Command, cfg.Spec.URLs, cfg.Spec.Control = "", []string{s.URL}, Control{Kill: "true", Start: "true"}
	c := start(t, cfg)
	c.members["w1"].(*remote).patience = time.Millisecond
	if err := c.Kill("w1"); err == nil || !strings.Contains(err.Error(), "control.kill has been run, but somebody still listens on "+hostPort(s.URL)) {
		t.Errorf("got %v", err)
	}
}

func TestAStartThatFailsByControl(t *testing.T) {
	p := newPlace(t)
	cfg := controlled(t, p)
	cfg.Spec.Control.Start = "echo no such image; exit 2"
	_, err := Start(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "worker w1") || !strings.Contains(err.Error(), "control.start: exit status 2; it last said: no such image") {
		t.Errorf("got %v", err)
	}
}
