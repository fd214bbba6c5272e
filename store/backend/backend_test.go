package backend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// held makes the test binary a program that opens a private server and waits to
// be killed: see TestServerDiesWithUs.
const held = "IDEMRACE_TEST_HOLD_SERVER"

func TestMain(m *testing.M) {
	logging.Disable() // refused dials are what some tests are about
	if os.Getenv(held) != "" {
		b, err := Open(context.Background(), Spec{Name: RedisServer})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(b.DialAddr())
		select {}
	}
	goleak.VerifyTestMain(m)
}

// open opens a store or skips, with the reason, where its server is not here.
func open(t *testing.T, spec Spec) *Backend {
	t.Helper()
	b, err := Open(t.Context(), spec)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil && spec.Name == Container && strings.Contains(err.Error(), "no such host") {
		t.Skip("needs Docker: and a registry to pull images from: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func client(t *testing.T, b *Backend, addr string) redis.UniversalClient {
	t.Helper()
	c := b.Client(addr)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestEachKindServes(t *testing.T) {
	for _, kind := range []string{Embedded, RedisServer, Container} {
		t.Run(kind, func(t *testing.T) {
			b := open(t, Spec{Name: kind})
			if b.Kind() != kind || b.Version() == "" || b.Address() == "" || !b.Proxyable() {
				t.Errorf("kind %q, version %q, address %q, proxyable %v", b.Kind(), b.Version(), b.Address(), b.Proxyable())
			}
			if host, _, err := net.SplitHostPort(b.DialAddr()); err != nil || host == "" {
				t.Errorf("dial address %q: %v", b.DialAddr(), err)
			}
			for _, addr := range []string{"", b.DialAddr()} {
				c := client(t, b, addr)
				if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			serverTimeIsReal(t, client(t, b, ""))
			ttlRunsByTheClock(t, client(t, b, ""))
		})
	}
}

// serverTimeIsReal: a lease is compared with TIME inside a script.
func serverTimeIsReal(t *testing.T, c redis.UniversalClient) {
	t.Helper()
	before := time.Now().Add(-time.Second)
	sec, err := c.Eval(t.Context(), `return tonumber(redis.call('TIME')[1])`, nil).Int64()
	if err != nil {
		t.Fatal(err)
	}
	if at := time.Unix(sec, 0); at.Before(before.Truncate(time.Second)) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("TIME in a script says %v, it is %v", at, time.Now())
	}
}

// ttlRunsByTheClock: nothing but time passing may end a key. The loop asks until
// the store says that it is gone; the test's own deadline is the limit.
func ttlRunsByTheClock(t *testing.T, c redis.UniversalClient) {
	t.Helper()
	if err := c.Set(t.Context(), "short", "v", 20*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := c.Eval(t.Context(), `return redis.call('EXISTS', KEYS[1])`, []string{"short"}).Int()
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

func TestMemoryHasNoWire(t *testing.T) {
	b := open(t, Spec{Name: Memory})
	if b.Kind() != Memory || b.DialAddr() != "" || b.Proxyable() || b.Client("") != nil {
		t.Errorf("%+v", b)
	}
}

func TestAuto(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no-such-server")
	some := open(t, Spec{Name: Embedded})
	tests := []struct {
		reason string
		spec   Spec
		kind   string
	}{
		{"nothing else is here", Spec{Server: missing}, Embedded},
		{"the name may be spelt out", Spec{Name: Auto, Server: missing}, Embedded},
		{"a URL is what the user set up", Spec{URL: "redis://" + some.DialAddr(), Server: missing}, URL},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			if b := open(t, test.spec); b.Kind() != test.kind {
				t.Errorf("got %s, want %s", b.Kind(), test.kind)
			}
		})
	}
	t.Run("a server is better than none", func(t *testing.T) {
		open(t, Spec{Name: RedisServer}) // skips without one
		if b := open(t, Spec{}); b.Kind() != RedisServer {
			t.Errorf("got %s", b.Kind())
		}
	})
	t.Run("a URL that does not answer is no reason to take another store", func(t *testing.T) {
		addr, err := freeAddr()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := Open(t.Context(), Spec{URL: "redis://" + addr, Server: missing}); err == nil {
			b.Close()
			t.Errorf("opened %s", b.Kind())
		}
	})
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		reason string
		spec   Spec
		is     error
		says   []string
	}{
		{"a slip is shown its name", Spec{Name: "embeded"}, ErrUnknown, []string{`"embeded"`, "did you mean embedded?", "redis-server, container"}},
		{"a beginning is enough", Spec{Name: "redis"}, ErrUnknown, []string{"did you mean redis-server?"}},
		{"nothing near: no guess", Spec{Name: "postgres"}, ErrUnknown, []string{`"postgres"; stores: auto`}},
		{"a bare address is no URL, and may hold a password", Spec{Name: "u:hunter2@h:1"}, ErrUnknown, []string{"must begin with redis://"}},
		{"another scheme", Spec{Name: "http://127.0.0.1:1"}, ErrUnknown, []string{"must begin with redis://"}},
		{"$REDIS_URL without a scheme", Spec{URL: "127.0.0.1:6379"}, ErrUnknown, []string{"must begin with redis://"}},
		{"a password that breaks the URL", Spec{Name: "redis://u:hunter2%zz@127.0.0.1"}, ErrUnknown, []string{"percent-encoded"}},
		{"a password taken for a port", Spec{Name: "redis://u:hunter2/@127.0.0.1"}, ErrUnknown, []string{"percent-encoded"}},
		{"a database that is none", Spec{Name: "redis://u:hunter2@127.0.0.1/hunter2"}, ErrUnknown, []string{"database number"}},
		{"a further address with a password", Spec{Name: "redis://127.0.0.1?addr=u:hunter2@127.0.0.1:1"}, ErrUnknown, []string{"host:port"}},
		{"another machine", Spec{Name: "redis://u:hunter2@db.example.com"}, ErrRemote, []string{"db.example.com:6379", "--allow-remote"}},
		{"another machine through the environment", Spec{URL: "rediss://:hunter2@10.0.0.1:1"}, ErrRemote, []string{"10.0.0.1:1"}},
		{"one of the cluster's is elsewhere", Spec{Name: "redis://127.0.0.1:1?addr=10.0.0.1:1"}, ErrRemote, []string{"10.0.0.1:1"}},
		{"every address of this machine is no loopback", Spec{Name: "redis://0.0.0.0:1"}, ErrRemote, nil},
		{"no server", Spec{Name: RedisServer, Server: "/no/such/server"}, ErrMissing, []string{"needs redis-server:", "--store embedded"}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			_, err := Open(t.Context(), test.spec)
			if !errors.Is(err, test.is) {
				t.Fatalf("got %v, want %v", err, test.is)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("password in %q", err)
			}
		})
	}
}

func TestPasswordStaysHidden(t *testing.T) {
	own := open(t, Spec{Name: RedisServer})
	if err := client(t, own, "").ConfigSet(t.Context(), "requirepass", "hunter2").Err(); err != nil {
		t.Fatal(err)
	}
	b := open(t, Spec{Name: "redis://:hunter2@" + own.DialAddr() + "/3"})
	if want := "redis://" + own.DialAddr() + "/3"; b.Address() != want {
		t.Errorf("address %q, want %q", b.Address(), want)
	}
	c := client(t, b, "")
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatalf("the password and database of the URL are used: %v", err)
	}
	if info := c.Info(t.Context(), "keyspace").Val(); !strings.Contains(info, "db3:keys=1") {
		t.Errorf("not in database 3: %q", info)
	}
	for _, url := range []string{"redis://:wrong-hunter2@", "redis://"} {
		_, err := Open(t.Context(), Spec{Name: url + own.DialAddr()})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := open(t, Spec{Name: RedisServer})
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("a directory would stay behind if we were killed now: %v", left)
	}
	conn, err := net.Dial("tcp", b.DialAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("again: %v", err)
	}
	closed(t, b.DialAddr())
	if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the process lives: %v", err)
	}
	select {
	case <-b.Died():
		t.Error("a closed server is said to have died")
	default:
	}
}

func TestEmbeddedClosesItsPort(t *testing.T) {
	b := open(t, Spec{Name: Embedded})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	closed(t, b.DialAddr())
}

func closed(t *testing.T, addr string) {
	t.Helper()
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Errorf("port %s is open", addr)
	}
}

func TestDied(t *testing.T) {
	b := open(t, Spec{Name: RedisServer})
	client(t, b, "").ShutdownNoSave(t.Context())
	<-b.Died()
}

func TestServerDiesWithUs(t *testing.T) {
	open(t, Spec{Name: RedisServer}) // skips without one
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), held+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr, _ := bufio.NewReader(out).ReadString('\n')
	conn, err := net.Dial("tcp", strings.TrimSpace(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cmd.Process.Kill()
	cmd.Wait()
	// A Redis without a request is silent; the read ends when the process does.
	_, _ = io.ReadAll(conn)
}

// script is a server program for tests.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServerThatEndsAtOnce(t *testing.T) {
	server := script(t, "echo starting; echo 'no memory for you' >&2; exit 3")
	t.Setenv("TMPDIR", t.TempDir())
	_, err := Open(t.Context(), Spec{Name: RedisServer, Server: server})
	if err == nil || !strings.HasSuffix(err.Error(), "it said last: no memory for you") {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestServerThatNeverAnswers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, Spec{Name: RedisServer, Server: script(t, "exec tail -f /dev/null")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCluster(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("needs redis-server: not on PATH")
	}
	// A cluster node writes nodes.conf, so it gets a directory that stays.
	node := open(t, Spec{Name: RedisServer, Server: script(t, `exec `+path+` "$@" --cluster-enabled yes --dir `+t.TempDir())})
	direct := client(t, node, "")
	if err := direct.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err) // Redis 7 or later
	}
	b := open(t, Spec{Name: "redis://" + node.DialAddr() + "?addr=" + node.DialAddr()})
	if b.Proxyable() || !strings.HasSuffix(b.Version(), "cluster") {
		t.Errorf("proxyable %v, version %q", b.Proxyable(), b.Version())
	}
	c, ok := client(t, b, "").(*redis.ClusterClient)
	if !ok {
		t.Fatal("not a cluster client")
	}
	// Opening waits for Redis' own pause before a new cluster serves, 2 s.
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Error(err)
	}
	if err := c.ForEachMaster(t.Context(), func(ctx context.Context, n *redis.Client) error { return n.Ping(ctx).Err() }); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), Spec{Name: "redis://" + node.DialAddr() + "/2"}); err == nil {
		t.Error("a cluster has no database 2")
	}
}

func TestSeveralAddressesNeedACluster(t *testing.T) {
	one := open(t, Spec{Name: Embedded})
	_, err := Open(t.Context(), Spec{Name: "redis://" + one.DialAddr() + "?addr=" + one.DialAddr()})
	if err == nil || !strings.Contains(err.Error(), "no cluster") {
		t.Errorf("got %v", err)
	}
}

func TestTLS(t *testing.T) {
	addr := tlsServer(t)
	b := open(t, Spec{Name: "rediss://:hunter2@" + addr + "?skip_verify=true"})
	if b.Proxyable() || b.Address() != "rediss://"+addr {
		t.Errorf("proxyable %v, address %q", b.Proxyable(), b.Address())
	}
	if err := client(t, b, "").Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), Spec{Name: "rediss://:hunter2@" + addr}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an unknown certificate is refused: %v", err)
	}
}

func TestVersion(t *testing.T) {
	tests := []struct{ reason, info, want string }{
		{"Redis", "# Server\r\nredis_version:7.0.15\r\n", "7.0.15"},
		{"Valkey's redis_version is what it is compatible with", "redis_version:7.2.4\r\nvalkey_version:8.0.1\r\n", "valkey 8.0.1"},
		{"something else", "hello", "version unknown"},
	}
	for _, test := range tests {
		if got := version(fields(test.info)); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}

func TestNamesAreAllKnown(t *testing.T) {
	for _, name := range Names() {
		b, err := Open(t.Context(), Spec{Name: name, Server: "/no/such/server", Image: "x:/bad"})
		if err == nil {
			b.Close()
		}
		if errors.Is(err, ErrUnknown) {
			t.Errorf("%s is listed but unknown", name)
		}
	}
	if slices.Contains(Names(), URL) {
		t.Error("url is a kind, not a name")
	}
}

func BenchmarkOpenEmbedded(b *testing.B) {
	for b.Loop() {
		s, err := Open(b.Context(), Spec{Name: Embedded})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

func BenchmarkOpenServer(b *testing.B) {
	for b.Loop() {
		s, err := Open(b.Context(), Spec{Name: RedisServer})
		if err != nil {
			b.Skip(err)
		}
		s.Close()
	}
}

// TestReaperIsNotTheImage: an image that nobody asked for is not taken for the one
// that was.
func TestReaperIsNotTheImage(t *testing.T) {
	tests := []struct {
		reason, text string
		reaper       bool
	}{
		{"the reaper's image cannot be pulled", "create container: reaper: new reaper: run container: docker.io/testcontainers/ryuk:0.14.0: not found", true},
		{"it does not answer", "reaper connect: dial tcp: refused", true},
		{"ours cannot be pulled", "create container: pull redis:8-nope: not found", false},
		{"the library's network has that word in its name", "create network reaper_default: denied", false},
	}
	for _, test := range tests {
		err := startError("redis:8-nope", errors.New(test.text))
		if errors.Is(err, ErrReaper) != test.reaper || strings.Contains(err.Error(), "redis:8-nope") == test.reaper || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
}

// TestNothingIsSaidTwice: a report reads "memory in this process", a refusal names
// the program once.
func TestNothingIsSaidTwice(t *testing.T) {
	b, err := Open(t.Context(), Spec{Name: Memory})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Version() != "in this process" || b.Address() != "" {
		t.Errorf("version %q, address %q", b.Version(), b.Address())
	}
	t.Setenv("PATH", t.TempDir())
	_, err = Open(t.Context(), Spec{Name: RedisServer})
	if want := "needs redis-server: not available here; install Redis, or use --store embedded"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
