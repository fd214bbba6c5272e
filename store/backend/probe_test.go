package backend

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/tidwall/redcon"
)

// TestStoreThatDoesNotTakeWrites: each answers PING. Opening it must fail, with
// the server's own words, and not as a mistake of the caller's.
func TestStoreThatDoesNotTakeWrites(t *testing.T) {
	tests := []struct {
		reason string
		broken [][]any
		user   string
		says   string
	}{
		{"a replica", [][]any{{"REPLICAOF", "127.0.0.1", "1"}}, "", "READONLY"},
		{"full", [][]any{{"CONFIG", "SET", "maxmemory", "1"}}, "", "OOM"},
		{"a user without the keys", [][]any{{"ACL", "SETUSER", "u", "on", ">hunter2", "+@all", "~other:*"}}, "u:hunter2@", "NOPERM"},
		{"a user without scripts", [][]any{{"ACL", "SETUSER", "u", "on", ">hunter2", "+@all", "-eval", "~*"}}, "u:hunter2@", "NOPERM"},
		{"a user who may not write in scripts", [][]any{{"ACL", "SETUSER", "u", "on", ">hunter2", "+@all", "-set", "~*"}}, "u:hunter2@", "can't run this command"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			own := open(t, Spec{Name: RedisServer})
			for _, command := range test.broken {
				if err := client(t, own, "").Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			b, err := Open(t.Context(), Spec{Name: "redis://" + test.user + own.DialAddr()})
			if err == nil {
				b.Close()
				t.Fatal("opened")
			}
			if errors.Is(err, ErrUnknown) || errors.Is(err, ErrRemote) || errors.Is(err, ErrMissing) {
				t.Errorf("no mistake of the caller's: %v", err)
			}
			if !strings.Contains(err.Error(), "does not take a write: ") || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %q, want the server's words with %s", err, test.says)
			}
		})
	}
}

// TestProbeLeavesNoKey: the probe is not in the way of anybody.
func TestProbeLeavesNoKey(t *testing.T) {
	own := open(t, Spec{Name: RedisServer})
	open(t, Spec{Name: "redis://" + own.DialAddr()})
	if n := client(t, own, "").DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// parrot is a server that answers PING, and to EVAL what it is told to.
func parrot(t *testing.T, eval *atomic.Pointer[string]) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := redcon.NewServer(l.Addr().String(), func(conn redcon.Conn, cmd redcon.Command) {
		switch strings.ToUpper(string(cmd.Args[0])) {
		case "AUTH", "SELECT":
			conn.WriteString("OK")
		case "PING":
			conn.WriteString("PONG")
		case "EVAL":
			if say := eval.Load(); say != nil {
				conn.WriteRaw([]byte("-" + *say + "\r\n"))
				return
			}
			conn.WriteInt(1)
		default:
			conn.WriteError("ERR unknown command")
		}
	}, nil, nil)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() { s.Close(); <-done })
	return l.Addr().String()
}

// TestServersWordsAreFitToBeShown: one line, not long, no password, no escape
// sequence that would write elsewhere on the terminal.
func TestServersWordsAreFitToBeShown(t *testing.T) {
	var say atomic.Pointer[string]
	text := "ERR \x1b[31m hunter2 \x00 " + strings.Repeat("é", 500)
	say.Store(&text)
	addr := parrot(t, &say)
	_, err := Open(t.Context(), Spec{Name: "redis://:hunter2@" + addr})
	if err == nil {
		t.Fatal("opened")
	}
	if strings.ContainsAny(err.Error(), "\x1b\x00\r\n") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %q", err)
	}
	if n := len([]rune(err.Error())); n > wordsMax+len("store at redis://: …")+len(addr) {
		t.Errorf("%d characters: %q", n, err)
	}
}

// TestPasswordStaysHiddenLater: a server may repeat what it was sent at any time.
func TestPasswordStaysHiddenLater(t *testing.T) {
	var say atomic.Pointer[string]
	b := open(t, Spec{Name: "redis://:hunter%202@" + parrot(t, &say)})
	text := "WRONGPASS hunter 2 and hunter%202 and hunter+2"
	say.Store(&text)
	c := client(t, b, "")
	err := c.Eval(t.Context(), "return 1", nil).Err()
	if err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("got %v", err)
	}
	if !redis.HasErrorPrefix(err, "WRONGPASS") {
		t.Errorf("the error is no longer what it was: %v", err)
	}
	pipe := c.Pipeline()
	one := pipe.Eval(t.Context(), "return 1", nil)
	if _, err := pipe.Exec(t.Context()); err == nil || strings.Contains(fmt.Sprint(err, one.Err()), "hunter") {
		t.Errorf("in a pipeline: %v, %v", err, one.Err())
	}
	if got := b.Hide("AUTH hunter 2"); got != "AUTH ***" {
		t.Errorf("got %q", got)
	}
}

// TestKilledBeforeReady: a private server's directory is gone as soon as it runs,
// however long it takes until it answers.
func TestKilledBeforeReady(t *testing.T) {
	path, err := exec.LookPath(RedisServer)
	if err != nil {
		t.Skip("needs redis-server: not on PATH")
	}
	t.Setenv("TMPDIR", t.TempDir())
	addr, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	p, err := launch(path, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind if we were killed now: %v", left)
	}
	if _, err := p.ready(t.Context(), addr); err != nil {
		t.Errorf("the server does not mind: %v", err)
	}
}

// TestAbsentImage: what is not here is pulled; what cannot be a name is not.
func TestAbsentImage(t *testing.T) {
	for _, row := range []struct {
		text string
		want bool
	}{
		{"Error response from daemon: No such image: redis:7-alpine", true},
		{"Error response from daemon: no such image: x:/bad: invalid reference format", false},
		{"Cannot connect to the Docker daemon", false},
	} {
		if got := absent(errors.New(row.text)); got != row.want {
			t.Errorf("%q: absent %v, want %v", row.text, got, row.want)
		}
	}
}
