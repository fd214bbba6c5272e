package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/idemrace/idemrace/clock"
)

const (
	// readyWithin is how long a private server may take until it answers; it
	// takes about 10 ms, and a loaded CI machine is not a hundred times slower.
	readyWithin = 10 * time.Second
	// readyEvery is the pause between two questions.
	readyEvery = 2 * time.Millisecond
	// portTries: a free port can be taken by somebody else before the server has it.
	portTries = 5
)

// errPortTaken: another process got the port first.
var errPortTaken = errors.New("the port was taken by another process")

// openServer runs a private redis-server that keeps nothing on disk.
func openServer(ctx context.Context, program string) (*Backend, error) {
	if program == "" {
		program = RedisServer
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("needs redis-server: %w%s; install Redis, or use --store embedded", ErrMissing, other(program))
	}
	for range portTries {
		var b *Backend
		if b, err = startServer(ctx, path); !errors.Is(err, errPortTaken) {
			return b, err
		}
	}
	return nil, err
}

// other names a program that is not called redis-server.
func other(program string) string {
	if program == RedisServer {
		return ""
	}
	return " (" + program + ")"
}

func startServer(ctx context.Context, path string) (*Backend, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	p, err := launch(path, addr)
	if err != nil {
		return nil, err
	}
	about, err := p.ready(ctx, addr)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &Backend{
		kind:     RedisServer,
		version:  about.version,
		address:  addr,
		dialAddr: addr,
		died:     p.died,
		stop:     p.stop,
	}, nil
}

// freeAddr finds a loopback port that was free a moment ago.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("no free port on 127.0.0.1: %w", err)
	}
	addr := l.Addr().String()
	return addr, l.Close()
}

// process is a private server. Both channels close when it has ended; died only
// if nobody asked for that.
type process struct {
	cmd      *exec.Cmd
	dir      string
	said     *tail
	ended    chan struct{}
	died     chan struct{}
	stopping chan struct{}
	once     sync.Once
}

// launch starts the server in a directory and a process group of its own: a
// Ctrl-C at the terminal reaches us first, and we end it.
func launch(path, addr string) (*process, error) {
	dir, err := os.MkdirTemp("", "idemrace-redis-")
	if err != nil {
		return nil, fmt.Errorf("redis-server: %w", err)
	}
	host, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--bind", host, "--port", port, "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--protected-mode", "yes")
	cmd.Dir = dir
	cmd.SysProcAttr = procAttr()
	p := &process{cmd: cmd, dir: dir, said: &tail{},
		ended: make(chan struct{}), died: make(chan struct{}), stopping: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.said, p.said
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("redis-server: %w", err), os.RemoveAll(dir))
	}
	// The server is in its directory and stays there, and it writes nothing: where
	// a directory in use can be removed, nothing is left behind even if we are
	// killed, at whatever moment.
	_ = os.RemoveAll(dir)
	return p, nil
}

// run stays on one thread for the process's whole life: Linux sends the death
// signal when the *thread* that made the child ends, not the process
// (golang.org/issue/27505).
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // how it ended does not matter, what it said does
	select {
	case <-p.stopping:
	default:
		close(p.died)
	}
	close(p.ended)
}

// ready asks until the server answers, and makes sure that it is ours.
func (p *process) ready(ctx context.Context, addr string) (server, error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for !answers(ctx, addr) {
		select {
		case <-p.ended:
			return server{}, p.obituary()
		default:
		}
		if err := (clock.Real{}).Sleep(ctx, readyEvery); err != nil {
			return server{}, fmt.Errorf("redis-server does not answer: %w; it said last: %s", err, p.said.last())
		}
	}
	c := login{}.client(addr)
	defer c.Close()
	about, err := ask(ctx, c)
	if err != nil {
		return server{}, fmt.Errorf("redis-server: %w", err)
	}
	if about.pid != strconv.Itoa(p.cmd.Process.Pid) {
		return server{}, errPortTaken
	}
	if about.cluster {
		return about, nil // a node alone, to which nobody has given a slot yet
	}
	if err := probe(ctx, c); err != nil {
		return server{}, fmt.Errorf("redis-server: %w", said{words(err.Error()), err})
	}
	return about, nil
}

// obituary says why the server ended, in its own last words.
func (p *process) obituary() error {
	last := p.said.last()
	if strings.Contains(last, "Address already in use") || strings.Contains(last, "Failed listening on port") {
		return fmt.Errorf("redis-server: %w", errPortTaken)
	}
	if last == "" {
		last = "(nothing)"
	}
	return fmt.Errorf("redis-server ended at once; it said last: %s", last)
}

// stop kills the whole group at once: there is nothing to save.
func (p *process) stop() error {
	p.once.Do(func() { close(p.stopping) })
	select {
	case <-p.ended:
	default:
		killGroup(p.cmd.Process)
		<-p.ended
	}
	return os.RemoveAll(p.dir)
}

// answers sends one PING without a client, whose pool would log refused dials.
func answers(ctx context.Context, addr string) bool {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return false
	}
	reply := make([]byte, len("+PONG"))
	_, err = io.ReadFull(conn, reply)
	return err == nil && string(reply) == "+PONG"
}

// tail keeps the end of what a process writes.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if over := len(t.end) - tailSize; over > 0 {
		t.end = bytes.Clone(t.end[over:])
	}
	return len(p), nil
}

// last is the last line that says anything.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.end))
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
