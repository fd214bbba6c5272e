package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/idemrace/idemrace/fakeprovider"
)

// process starts a worker as a process of its own.
func process(t testing.TB, env func(string) string, args ...string) (*exec.Cmd, string) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asService+"=1")
	for _, name := range []string{"PORT", "WORKER", "PROVIDER_URL", "REDIS_URL"} {
		cmd.Env = append(cmd.Env, name+"="+env(name))
	}
	log, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.Close()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	})
	return cmd, baseOf(t, log)
}

// A worker that is told to end answers whom it has begun to serve.
func TestItEndsWhenItIsTold(t *testing.T) {
	p, url := provider(t, fakeprovider.Options{})
	p.HoldNext(1)
	cmd, base := process(t, environment("w1", url, redisURL(t)))
	answered := make(chan reply, 1)
	go func() { answered <- post(t, base, request{key: "k1"}) }()
	if err := p.AwaitHeld(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// It is told once it does not listen any more.
	for {
		got, err := http.Get(base + "/health")
		if err != nil {
			break
		}
		got.Body.Close()
	}
	p.Release(0)
	if got := <-answered; got.status != http.StatusCreated {
		t.Errorf("%d %s", got.status, got.body)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A worker dies with its charge under way. Its duplicate at the other worker waits
// for the lease to end, and goes on then: twice charged with a provider that ignores
// keys, once with one that honours them.
func TestAWorkerDies(t *testing.T) {
	for honours, charges := range map[bool]int{false: 2, true: 1} {
		p, url := provider(t, fakeprovider.Options{HonoursKeys: honours})
		p.Script(fakeprovider.Behaviour{HoldAfter: true})
		redis, args := redisURL(t), []string{"--impl", "wait", "--lease", "1s"}
		cmd, w1 := process(t, environment("w1", url, redis), args...)
		_, w2 := process(t, environment("w2", url, redis), args...)
		go func() {
			r, _ := http.NewRequest(http.MethodPost, w1+"/charges", strings.NewReader(order100))
			r.Header.Set("Idempotency-Key", "k1")
			r.GetBody = nil
			if got, err := http.DefaultClient.Do(r); err == nil {
				t.Errorf("the dead worker answered %d", got.StatusCode)
				got.Body.Close()
			}
		}()
		if err := p.AwaitCharges(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.Release(0)
		if got := post(t, w2, request{key: "k1"}); got.status != http.StatusCreated || got.receipt.Worker != "w2" {
			t.Errorf("provider honours keys %v: %d %s", honours, got.status, got.body)
		}
		if n := len(p.Ledger()); n != charges {
			t.Errorf("provider honours keys %v: %d charges, want %d", honours, n, charges)
		}
	}
}

func TestTheCommandLine(t *testing.T) {
	cases := []struct {
		args     []string
		provider string
		redis    string
		code     int
		want     string
	}{
		{[]string{"--help"}, "", "", exitOK, "-impl"},
		{[]string{"--impl", "nobody"}, "http://127.0.0.1:1", "", exitUsage, `no coordinator is called "nobody"`},
		{[]string{"--lease", "-1s"}, "http://127.0.0.1:1", "", exitUsage, "Lease is negative"},
		{[]string{"--store-policy", "ajar"}, "http://127.0.0.1:1", "", exitUsage, `"ajar" is neither`},
		{[]string{"--no-such"}, "http://127.0.0.1:1", "", exitUsage, "flag provided but not defined"},
		{[]string{"wait"}, "http://127.0.0.1:1", "", exitUsage, `"wait" is no flag`},
		{nil, "", "", exitUsage, "PROVIDER_URL must be"},
		{nil, "http://127.0.0.1:1", "http://:secret@nowhere", exitFailed, "REDIS_URL is no URL of a Redis"},
		{[]string{"--host", "192.0.2.1"}, "http://127.0.0.1:1", "", exitFailed, "listen tcp 192.0.2.1:0"},
	}
	for _, c := range cases {
		var stderr bytes.Buffer
		code := run(t.Context(), c.args, environment("w1", c.provider, c.redis), &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.want) || strings.Contains(stderr.String(), "secret") {
			t.Errorf("%v: %d, %q; want %d, %q", c.args, code, stderr.String(), c.code, c.want)
		}
	}
}

func TestHealth(t *testing.T) {
	_, url := provider(t, fakeprovider.Options{})
	got, err := http.Get(start(t, environment("w1", url, "")) + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if body, _ := io.ReadAll(got.Body); got.StatusCode != http.StatusOK || string(body) != "ok\n" {
		t.Errorf("%d %q", got.StatusCode, body)
	}
}
