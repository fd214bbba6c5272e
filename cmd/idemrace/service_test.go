package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// binaries is where examples are built, for as long as the tests run.
var binaries string

// payments is the binary of examples/payments, built once.
var payments = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaries, "payments")
	out, err := exec.Command("go", "build", "-o", path, "../../examples/payments").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// havePayments puts examples/payments into the script's directory.
func havePayments(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: payments")
	}
	path, err := payments()
	ts.Check(err)
	ts.Check(os.Symlink(path, ts.MkAbs("payments")))
}

// startPayments starts one for the script's time, and says where in $SERVICE; its
// provider must listen at $PROVIDER.
func startPayments(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: startpayments COORDINATOR")
	}
	path, err := payments()
	ts.Check(err)
	service, provider := freeAddr(ts), freeAddr(ts)
	_, port, _ := net.SplitHostPort(service)
	cmd := exec.Command(path, "--impl", args[0])
	cmd.Env = append(os.Environ(), "PORT="+port, "PROVIDER_URL=http://"+provider, "REDIS_URL=")
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get("http://" + service + "/health")
		if err == nil {
			_ = resp.Body.Close()
			break
		}
		if time.Since(began) > 20*time.Second {
			ts.Fatalf("payments is not ready: %v", err)
		}
	}
	ts.Setenv("SERVICE", "http://"+service)
	ts.Setenv("PROVIDER", provider)
}

// freeAddr is an address where nobody listened a moment ago.
func freeAddr(ts *testscript.TestScript) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer ln.Close()
	return ln.Addr().String()
}

// withExamples runs the tests with a directory for examples that are built.
type withExamples struct{ *testing.M }

func (m withExamples) Run() int {
	dir, err := os.MkdirTemp("", "idemrace-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	return m.M.Run()
}
