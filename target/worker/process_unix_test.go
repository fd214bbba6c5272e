//go:build unix

package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWorkersRun(t *testing.T) {
	p := newPlace(t)
	if err := os.Mkdir(filepath.Join(p.dir, "app"), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := p.config(`cd app && "$SELF" serve`)
	cfg.Spec.Count, cfg.Spec.Ready = 2, "health"
	cfg.Environ = append(cfg.Environ, "A=caller", "B=caller", "PORT=1")
	cfg.Spec.Env = map[string]string{"B": "spec", "C": "spec"}
	cfg.Env = func(worker string) []string { return []string{"C=" + worker} }
	c := start(t, cfg)
	if diff := cmp.Diff([]string{"w1", "w2"}, c.Names()); diff != "" || !c.CanKill() || !c.CanPause() {
		t.Error(diff, c.CanKill(), c.CanPause())
	}
	groups := map[int]bool{syscall.Getpgrp(): true}
	for _, name := range c.Names() {
		a := ask(t, c, name)
		base, _ := c.URL(name)
		for _, want := range []string{"A=caller", "B=spec", "C=" + name, "WORKER=" + name, "PORT=" + strings.TrimPrefix(base, "http://127.0.0.1:")} {
			if !slices.Contains(a.Env, want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
		if a.Stdin != "" || filepath.Base(a.Dir) != "app" || groups[a.Group] {
			t.Errorf("%s: stdin %q, dir %s, group %d of %v", name, a.Stdin, a.Dir, a.Group, groups)
		}
		groups[a.Group] = true
		if got := c.Output(name, 1000); got != name+" serves\n" {
			t.Errorf("it printed %q", got)
		}
	}
	if died := c.Died(); died != nil {
		t.Errorf("died: %v", died)
	}
	if _, err := c.URL("w3"); err == nil || err.Error() != "there is no worker w3; there are: w1, w2" {
		t.Error(err)
	}
}

// The environment of this process reaches nobody.
func TestNoEnvironmentIsInherited(t *testing.T) {
	p := newPlace(t)
	t.Setenv("LEAK", "secret")
	cfg := p.config(`[ -z "$LEAK$HOME" ] || exit 1; "` + strings.TrimPrefix(p.config("").Environ[len(os.Environ())+1], "SELF=") + `" serve`)
	cfg.Environ, cfg.Spec.Env = nil, map[string]string{"WORKER_TEST_ROLE": "1"}
	start(t, cfg)
}

func TestAStartThatFailsSaysWhatWasSeen(t *testing.T) {
	const brief = 300 * time.Millisecond
	cases := []struct {
		reason, command, health string
		spec                    Spec
		is                      error
		want                    []string
	}{
		{"dies at once", "echo no database >&2; exit 3", "", Spec{}, ErrEnded, []string{"worker w1 ended at once: exit status 3; it last said: no database"}},
		{"dies silently", "exit 1", "", Spec{}, ErrEnded, []string{"ended at once: exit status 1; it said nothing"}},
		{"is killed", "kill -9 $$", "", Spec{}, ErrEnded, []string{"ended at once: signal: killed"}},
		{"goes to the background", `"$SELF" serve & exit 0`, "", Spec{Ready: "/no"}, ErrEnded, []string{"ended at once: exit status 0"}},
		{"is no command", "no-such-command", "", Spec{}, ErrEnded, []string{"exit status 127", "no-such-command: not found"}},
		{"does not parse", "if", "", Spec{}, ErrEnded, []string{"exit status 2", "yntax error"}},
		{"has the wrong port", "sleep 600; true", "", Spec{ReadyWithin: brief}, ErrNotReady, []string{"worker w1 is not ready after 300ms: nothing listens on 127.0.0.1:", "(does the service take its port from PORT?); it said nothing"}},
		{"listens elsewhere", `"$SELF" serve6`, "", Spec{ReadyWithin: brief}, ErrNotReady, []string{"nothing listens on 127.0.0.1:", "but something does on [::1]:"}},
		{"is ill", `"$SELF" serve`, "500", Spec{Ready: "/health", ReadyWithin: brief}, ErrNotReady, []string{"worker w1 is not ready after ", "GET /health answered 500; it last said: w1 serves"}},
		{"is elsewhere", `"$SELF" serve`, "302", Spec{Ready: "/health", ReadyWithin: brief}, ErrNotReady, []string{"GET /health answered 302"}},
		{"hangs", `"$SELF" serve`, "-1", Spec{Ready: "/health", ReadyWithin: brief}, ErrNotReady, []string{"GET /health was not answered"}},
		{"has no folder", "true", "", Spec{Dir: "nowhere"}, os.ErrNotExist, []string{"worker w1 cannot be started: workers.dir: ", "nowhere"}},
		{"has a file for a folder", "true", "", Spec{Dir: "health"}, nil, []string{"is no folder"}},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if strings.Contains(c.command, "serve6") && !hasIPv6() {
				t.Skip("this machine has no [::1]")
			}
			p := newPlace(t)
			if err := os.WriteFile(filepath.Join(p.dir, "health"), []byte(c.health), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg := p.config(c.command)
			cfg.Spec.Dir, cfg.Spec.Ready, cfg.Spec.StopWithin = c.spec.Dir, c.spec.Ready, 0
			if c.spec.ReadyWithin > 0 {
				cfg.Spec.ReadyWithin = c.spec.ReadyWithin
			}
			crew, err := Start(t.Context(), cfg)
			for errors.Is(err, ErrNotReady) && lacks(err, c.want) != "" && cfg.Spec.ReadyWithin < patience {
				cfg.Spec.ReadyWithin *= 4 // this machine was too slow
				crew, err = Start(t.Context(), cfg)
			}
			if err == nil || crew != nil || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("got %v, %v", crew, err)
			}
			if want := lacks(err, c.want); want != "" {
				t.Errorf("want %q in: %v", want, err)
			}
		})
	}
}

// lacks is the first of the parts that an error does not have.
func lacks(err error, parts []string) string {
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			return part
		}
	}
	return ""
}

func hasIPv6() bool {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		ln.Close()
	}
	return err == nil
}

func TestAStartIsAllOrNothing(t *testing.T) {
	p := newPlace(t)
	cfg := p.config(`if [ $WORKER = w3 ]; then exit 3; else "$SELF" serve; fi`)
	cfg.Spec.Count = 4
	if _, err := Start(t.Context(), cfg); !errors.Is(err, ErrEnded) || !strings.HasPrefix(err.Error(), "worker w3 ended at once: exit status 3") {
		t.Errorf("got %v", err)
	}
}

// Neither the signals that it is deaf to nor an hour's time to stop keep a worker
// that is being started.
func TestTheEndOfTheContextEndsAStart(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { p.awaitSomebody(t); cancel() }()
	_, err := Start(ctx, p.config(`trap "" TERM INT HUP; sleep 600; sleep 600`))
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotReady) {
		t.Errorf("got %v", err)
	}
	if _, err := Start(ctx, p.config("touch ran")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "ran")); err == nil {
		t.Error("it was started all the same")
	}
}

// The context of Start is not the workers' life.
func TestWorkersOutliveTheContextOfTheirStart(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Start(ctx, p.config(`"$SELF" serve`))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	ask(t, c, "w1")
	if err := c.Kill("w1"); err != nil {
		t.Error(err)
	}
}

func TestKillAndMend(t *testing.T) {
	p := newPlace(t)
	cfg := p.config(`sleep 600 & "$SELF" serve; true`)
	cfg.Spec.Count = 2
	c := start(t, cfg)
	base, _ := c.URL("w1")
	first, other := ask(t, c, "w1"), ask(t, c, "w2")
	for range 3 { // to kill a dead one is no error
		if err := c.Kill("w1"); err != nil {
			t.Fatal(err)
		}
		if err := dial(t.Context(), hostPort(base)); !refused(err) {
			t.Errorf("somebody listens: %v", err)
		}
		if !extinct(first.Group) {
			t.Error("its group lives")
		}
	}
	if died := c.Died(); died != nil || c.Why("w1") != "" {
		t.Errorf("what we kill has not died by itself: %v, %s", died, c.Why("w1"))
	}
	for _, do := range []func(string) error{c.Pause, c.Resume} {
		if err := do("w1"); !errors.Is(err, ErrNotRunning) || err.Error() != "worker w1 is not running" {
			t.Errorf("got %v", err)
		}
	}
	if err := c.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, _ := c.URL("w1"); again != base {
		t.Errorf("it is at %s, and was at %s", again, base)
	}
	if a := ask(t, c, "w1"); a.Pid == first.Pid {
		t.Error("it is the same process")
	}
	if a := ask(t, c, "w2"); a.Pid != other.Pid {
		t.Error("the other one was started again too")
	}
	if got := c.Output("w1", 1000); got != "w1 serves\nw1 serves\n" {
		t.Errorf("of both lives it keeps %q", got)
	}
}

func TestAWorkerThatDiesByItself(t *testing.T) {
	p := newPlace(t)
	cfg := p.config(`sleep 600 & "$SELF" serve`)
	cfg.Spec.Count = 3
	c := start(t, cfg)
	group := ask(t, c, "w2").Group
	letDie(t, c, "w2", 7)
	if died := c.Died(); !slices.Equal(died, []string{"w2"}) || c.Why("w2") != "exit status 7" {
		t.Errorf("died: %v, %s", died, c.Why("w2"))
	}
	if !extinct(group) {
		t.Error("its children live")
	}
	if err := c.Kill("w2"); err != nil || c.Died() == nil {
		t.Errorf("to kill it now changes nothing: %v, %v", err, c.Died())
	}
	if err := c.Mend(t.Context()); err != nil || c.Died() != nil {
		t.Errorf("%v; died: %v", err, c.Died())
	}
	ask(t, c, "w2")
	if got := c.Output("w2", 1000); got != "w2 serves\nexit as told\nw2 serves\n" {
		t.Errorf("got %q", got)
	}
}

// A worker that is just dying when Mend comes is started again.
func TestMendComesWhileAWorkerDies(t *testing.T) {
	p := newPlace(t)
	cfg := p.config(`"$SELF" serve`)
	cfg.Spec.Ready = "/health" // connections are accepted for a moment by what is dying
	c := start(t, cfg)
	for range 10 {
		_, _ = get(t, c, "w1", "/exit?code=1")
		if err := c.Mend(t.Context()); err != nil {
			t.Fatal(err)
		}
		ask(t, c, "w1")
	}
}

func TestMendSaysWhatCannotBeMended(t *testing.T) {
	p := newPlace(t)
	c := start(t, p.config(`[ -e broken ] && echo broken && exit 4; "$SELF" serve`))
	letDie(t, c, "w1", 0)
	broken := filepath.Join(p.dir, "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Mend(t.Context()); !errors.Is(err, ErrEnded) || err.Error() != "worker w1 ended at once: exit status 4; it last said: broken" {
		t.Errorf("got %v", err)
	}
	_ = os.Remove(broken)
	if err := c.Mend(t.Context()); err != nil {
		t.Error(err)
	}
}

// counter reads what the role "count" has come to.
func counter(t *testing.T, file string) uint64 {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil || len(b) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func awaitCount(t *testing.T, file string) {
	t.Helper()
	from := counter(t, file)
	if !within(patience, func() bool { return counter(t, file) > from }) {
		t.Fatalf("%s stands still", file)
	}
}

func TestAPausedWorkerStandsStill(t *testing.T) {
	p := newPlace(t)
	c := start(t, p.config(`"$SELF" count a & "$SELF" count b & "$SELF" serve`))
	a, b := filepath.Join(p.dir, "a"), filepath.Join(p.dir, "b")
	mends := []func() error{
		func() error { return c.Resume("w1") },
		func() error { return c.Mend(t.Context()) },
	}
	for i := range 20 {
		awaitCount(t, a)
		awaitCount(t, b)
		for range 2 { // twice is once
			if err := c.Pause("w1"); err != nil {
				t.Fatal(err)
			}
		}
		na, nb := counter(t, a), counter(t, b)
		for range 1000 {
			if counter(t, a) != na || counter(t, b) != nb {
				t.Fatal("it goes on")
			}
		}
		if c.Died() != nil {
			t.Errorf("died: %v", c.Died())
		}
		if err := mends[i%len(mends)](); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Pause("w1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill("w1"); err != nil {
		t.Errorf("a frozen one can be killed: %v", err)
	}
	if err := c.Mend(t.Context()); err != nil {
		t.Error(err)
	}
	awaitCount(t, a)
}

// What is frozen would go on with what it was doing if it were asked to end.
func TestCloseEndsWhatIsFrozenAtOnce(t *testing.T) {
	p := newPlace(t)
	c := start(t, p.config(`trap 'touch went-on; exit' TERM; while :; do sleep 0.01; "$SELF" serve; done`))
	if err := c.Pause("w1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "went-on")); err == nil {
		t.Error("it went on")
	}
}

// The shell that leads a group ends at SIGTERM; what it has started may need longer.
func TestCloseWaitsForTheWholeGroup(t *testing.T) {
	p := newPlace(t)
	c := start(t, p.config(`"$SELF" last; true`))
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := c.Output("w1", 1000); got != "w1 serves\nbye\n" {
		t.Errorf("got %q", got)
	}
	if died := c.Died(); died != nil {
		t.Errorf("died: %v", died)
	}
}

func TestCloseKillsWhatDoesNotStop(t *testing.T) {
	p := newPlace(t)
	cfg := p.config(`trap "" TERM INT HUP; "$SELF" count a & "$SELF" serve; sleep 600`)
	cfg.Spec.StopWithin = 50 * time.Millisecond
	c := start(t, cfg)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if c.members["w1"].(*process).now.alive() {
				t.Error("Close has returned, and it lives")
			}
		})
	}
	all.Wait()
	for what, err := range map[string]error{"kill": c.Kill("w1"), "pause": c.Pause("w1"), "resume": c.Resume("w1"), "mend": c.Mend(t.Context())} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestCloseBreaksOffAMend(t *testing.T) {
	p := newPlace(t)
	cfg := p.config(`"$SELF" serve`)
	cfg.Spec.Ready, cfg.Spec.ReadyWithin = "/health", time.Hour
	c := start(t, cfg)
	p.awaitSomebody(t)
	if err := c.Kill("w1"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "health"), []byte("503"), 0o600); err != nil {
		t.Fatal(err)
	}
	mended := make(chan error)
	go func() { mended <- c.Mend(context.Background()) }()
	p.awaitSomebody(t)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-mended; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestKillWhileAWorkerIsBeingMended(t *testing.T) {
	p := newPlace(t)
	cfg := p.config(`"$SELF" serve`)
	cfg.Spec.Ready, cfg.Spec.ReadyWithin = "/health", time.Hour
	c := start(t, cfg)
	p.awaitSomebody(t)
	letDie(t, c, "w1", 1)
	if err := os.WriteFile(filepath.Join(p.dir, "health"), []byte("503"), 0o600); err != nil {
		t.Fatal(err)
	}
	mended := make(chan error)
	go func() { mended <- c.Mend(context.Background()) }()
	p.awaitSomebody(t)
	if err := c.Kill("w1"); err != nil {
		t.Error(err)
	}
	if err := <-mended; err == nil || err.Error() != "worker w1 was killed before it was ready" {
		t.Errorf("got %v", err)
	}
}

// A service that does not set SO_REUSEADDR cannot listen beside our reservation.
func TestAServiceThatSharesNoPort(t *testing.T) {
	p := newPlace(t)
	c := start(t, p.config(`"$SELF" serve-alone`))
	ask(t, c, "w1")
	if said := c.Output("w1", 1000); strings.Count(said, "in use") > 1 {
		t.Errorf("it was tried more often than twice:\n%s", said)
	}
	for range 3 {
		if err := c.Kill("w1"); err != nil {
			t.Fatal(err)
		}
		if err := c.Mend(t.Context()); err != nil {
			t.Fatal(err)
		}
		ask(t, c, "w1")
	}
}

func TestAPortThatIsAlwaysTaken(t *testing.T) {
	p := newPlace(t)
	_, err := Start(t.Context(), p.config(`echo x >>tries; echo "listen: address already in use"; exit 1`))
	if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "worker w1 ended at once: its port is taken: exit status 1; it last said: listen: address already in use") {
		t.Errorf("got %v", err)
	}
	if tries, _ := os.ReadFile(filepath.Join(p.dir, "tries")); string(tries) != "x\nx\n" {
		t.Errorf("it was tried: %q", tries)
	}
}

func TestMuchOutputIsKeptFromItsEnd(t *testing.T) {
	p := newPlace(t)
	c := start(t, p.config(`i=0; while [ $i -lt 9000 ]; do echo "line $i of much output"; i=$((i+1)); done; "$SELF" serve`))
	if got := c.Output("w1", 1<<20); len(got) != ringSize || !strings.HasSuffix(got, "line 8999 of much output\nw1 serves\n") {
		t.Errorf("%d bytes are kept, …%q", len(got), got[max(0, len(got)-60):])
	}
	if got := c.Output("w1", 7); got != "serves\n" {
		t.Errorf("got %q", got)
	}
	if got := c.Output("w9", 7); got != "" {
		t.Errorf("got %q", got)
	}
}

// A process that has left the group, with the worker's output, is not ours to end;
// it does not keep us.
func TestAProcessThatHasLeftDoesNotKeepUs(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.dir, "linger")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close() // which ends it
	c := start(t, p.config(`exec 9>&-; "$SELF" escape`))
	if !within(patience, func() bool { return strings.Contains(c.Output("w1", 1000), "lingering") }) {
		t.Error("it does not linger")
	}
	if err := c.Kill("w1"); err != nil {
		t.Error(err)
	}
	if err := c.Mend(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestManyAtOnce(t *testing.T) {
	p := newPlace(t)
	cfg := p.config(`"$SELF" serve`)
	cfg.Spec.Count = 4
	crews := []*Crew{start(t, cfg), start(t, cfg)}
	seen := map[string]bool{}
	var all sync.WaitGroup
	for _, c := range crews {
		blink := func(name string) error { return errors.Join(c.Pause(name), c.Resume(name)) }
		for _, name := range c.Names() {
			base, _ := c.URL(name)
			if seen[base] {
				t.Errorf("two workers are at %s", base)
			}
			seen[base] = true
			for _, do := range []func(string) error{c.Kill, blink, func(string) error { return c.Mend(t.Context()) }} {
				all.Go(func() { _ = do(name) }) // in any order; who comes too late is told so
			}
			all.Go(func() { _ = fmt.Sprint(c.Died(), c.Output(name, 100)) })
		}
	}
	all.Wait()
	for _, c := range crews {
		if err := c.Mend(t.Context()); err != nil {
			t.Error(err)
		}
		for _, name := range c.Names() {
			ask(t, c, name)
		}
	}
}
