//go:build unix

package worker

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The services of these tests are this test binary, run again with a role.
func TestMain(m *testing.M) {
	if role := os.Getenv("WORKER_TEST_ROLE"); role != "" && len(os.Args) > 1 {
		play(os.Args[1])
		return
	}
	goleak.VerifyTestMain(m)
}

func play(role string) {
	log.SetFlags(0)
	address := "127.0.0.1:" + os.Getenv("PORT")
	switch role {
	case "serve":
		serve(net.ListenConfig{}, address)
	case "serve6": // as some do that are told "localhost"
		serve(net.ListenConfig{}, "[::1]:"+os.Getenv("PORT"))
	case "serve-alone": // without SO_REUSEADDR
		serve(net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0) })
		}}, address)
	case "count":
		count(os.Args[2])
	case "last": // outlives its parent
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		parent := os.Getppid()
		go serve(net.ListenConfig{}, address)
		<-term
		for os.Getppid() == parent {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond) // it has much to tidy up
		fmt.Println("bye")
	case "escape": // leaves the group, and keeps our output
		cmd := exec.Command(os.Args[0], "linger")
		cmd.Stdout, cmd.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			log.Fatal(err)
		}
		serve(net.ListenConfig{}, address)
	case "linger":
		fmt.Println("lingering")
		if end, err := os.OpenFile("linger", os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			_, _ = io.Copy(io.Discard, end) // until the test lets go of it
		}
	case "boss":
		boss()
	}
}

// serve is a small service.
func serve(lc net.ListenConfig, address string) {
	ln, err := lc.Listen(context.Background(), "tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(os.Getenv("WORKER"), "serves")
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) {
		text, _ := os.ReadFile("health") // may change
		switch code, _ := strconv.Atoi(strings.TrimSpace(string(text))); {
		case code == 302:
			http.Redirect(w, r, "/env", code)
		case code < 0:
			<-r.Context().Done()
		case code > 0:
			w.WriteHeader(code)
		}
	})
	mux.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) {
		dir, _ := os.Getwd()
		in, _ := io.ReadAll(os.Stdin)
		_ = json.NewEncoder(w).Encode(map[string]any{"env": os.Environ(), "dir": dir, "pid": os.Getpid(), "group": syscall.Getpgrp(), "stdin": string(in)})
	})
	mux.HandleFunc("/exit", func(_ http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.URL.Query().Get("code"))
		fmt.Println("exit as told")
		os.Exit(code)
	})
	log.Fatal(http.Serve(ln, mux))
}

// count counts in a file, as fast as it can.
func count(file string) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	for n := uint64(1); ; n++ {
		_, _ = f.WriteAt(binary.LittleEndian.AppendUint64(nil, n), 0)
	}
}

// boss is somebody who starts workers and does not live to close them.
func boss() {
	c, err := Start(context.Background(), Config{Spec: Spec{Command: os.Args[2], Count: 2}, Environ: os.Environ()})
	if err == nil && len(os.Args) > 3 {
		err = c.Pause("w1")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	select {}
}

// place is a folder with a pipe that every process of a worker holds.
type place struct {
	dir  string
	pipe *os.File
}

const held = "exec 9>held; echo here >&9; "

// newPlace checks at the end of the test that nobody holds the pipe any more, and
// that we have no child.
func newPlace(t *testing.T) place {
	t.Helper()
	p := place{dir: t.TempDir()}
	p.pipe = fifo(t, p.dir, "held")
	t.Cleanup(func() {
		p.expectNobody(t)
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
			t.Errorf("a child is left: %d, %v", pid, err)
		}
	})
	return p
}

func fifo(t *testing.T, dir, name string) *os.File {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// patience is for events that surely come.
const patience = 30 * time.Second

// awaitSomebody waits until a worker has been begun.
func (p place) awaitSomebody(t *testing.T) {
	t.Helper()
	_ = p.pipe.SetReadDeadline(time.Now().Add(patience))
	one := make([]byte, len("here\n"))
	came := func() bool { n, _ := p.pipe.Read(one); return n > 0 } // EOF until somebody opens it
	if !within(patience, came) {
		t.Error("nobody came")
	}
}

// expectNobody: the kernel says EOF once nobody holds the other end.
func (p place) expectNobody(t *testing.T) {
	t.Helper()
	_ = p.pipe.SetReadDeadline(time.Now().Add(time.Second))
	if _, err := io.Copy(io.Discard, p.pipe); err != nil {
		t.Errorf("a process is left: %v", err)
	}
}

// config is of a worker that runs a command, with this binary as $SELF.
func (p place) config(command string) Config {
	self, _ := os.Executable()
	return Config{
		Dir:     p.dir,
		Environ: append(os.Environ(), "WORKER_TEST_ROLE=1", "SELF="+self, "GORACE=atexit_sleep_ms=0"), // else each exit takes a second
		Spec:    Spec{Command: held + command, ReadyWithin: patience, StopWithin: time.Hour},
	}
}

// start is a crew that is closed at the end, whatever becomes of it.
func start(t *testing.T, cfg Config) *Crew {
	t.Helper()
	c, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// get asks a worker; the error is of the connection.
func get(t *testing.T, c *Crew, worker, path string) (string, error) {
	t.Helper()
	base, err := c.URL(worker)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get(base + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// about is what a worker says of itself.
type about struct {
	Env   []string
	Dir   string
	Pid   int
	Group int
	Stdin string
}

func ask(t *testing.T, c *Crew, worker string) (a about) {
	t.Helper()
	text, err := get(t, c, worker, "/env")
	if err == nil {
		err = json.Unmarshal([]byte(text), &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// letDie makes a worker end by itself, and waits until that is known.
func letDie(t *testing.T, c *Crew, worker string, code int) {
	t.Helper()
	now := c.members[worker].(*process).now
	_, _ = get(t, c, worker, fmt.Sprintf("/exit?code=%d", code))
	select {
	case <-now.done:
	case <-time.After(patience):
		t.Fatal("it lives")
	}
}
