// Package unrun says, in one line at the end of go test ./..., which tests could
// not run on this machine and why. It tests nothing.
//
// go test hides what passing and skipped tests print, so the line goes to the
// standard error of the go command itself. The name sorts last among the
// packages, so that the line comes last. With IDEMRACE_REQUIRE, as in CI, what
// is missing is a failure.
package unrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// need is something that tests ask of a machine.
type need struct {
	name string // as in IDEMRACE_REQUIRE and after "needs " in skip messages
	hint string // how to get it
	here func(context.Context) error
}

var needs = []need{
	{"redis-server", "apt-get install redis-server, brew install redis", onPath("redis-server")},
	{"Docker", "start its daemon", docker},
	{"node", "apt-get install nodejs, brew install node", onPath("node")},
	{"kustomize", "go install sigs.k8s.io/kustomize/kustomize/v5@latest, or a kubectl", onPath("kustomize", "kubectl")},
}

// onPath: one of the programs is there.
func onPath(programs ...string) func(context.Context) error {
	return func(context.Context) (err error) {
		for _, p := range programs {
			if _, err = exec.LookPath(p); err == nil {
				return nil
			}
		}
		return err
	}
}

// docker asks as the tests do, through the same library: it knows of DOCKER_HOST,
// contexts and rootless daemons, and panics where it finds none.
func docker(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("no daemon found")
		}
	}()
	quiet := log.NewNoopLogger()
	log.SetDefault(quiet)
	provider, err := testcontainers.NewDockerProvider(testcontainers.WithLogger(quiet))
	if err != nil {
		return err
	}
	return provider.Health(ctx)
}

func TestSayWhatWasNotRun(t *testing.T) {
	notRemembered()
	var missing []string
	for _, n := range needs {
		err := n.here(t.Context())
		if err == nil {
			continue
		}
		if required(os.Getenv("IDEMRACE_REQUIRE"), n.name) {
			t.Errorf("needs %s, which IDEMRACE_REQUIRE says is here: %v", n.name, err)
		}
		missing = append(missing, fmt.Sprintf("tests that need %s (%s)", n.name, n.hint))
	}
	if len(missing) > 0 {
		say("not run here: " + strings.Join(missing, "; ") + "\n")
	}
}

func required(list, name string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(word string) bool {
		return strings.EqualFold(strings.TrimSpace(word), name)
	})
}

// notRemembered keeps go test from caching this result: it caches none that
// depends on a file of the module that changed within the last two seconds.
func notRemembered() {
	const file = "testdata/README"
	now := time.Now()
	if os.Chtimes(file, now, now) == nil {
		os.ReadFile(file)
	}
}

// say writes to the standard error of the process that started us, which is go, or
// else to the terminal. Where neither can be had, nothing is said: go test -v shows
// every skip.
func say(line string) {
	out, err := parentStderr()
	if err != nil {
		out, err = os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	}
	if err != nil {
		return
	}
	defer out.Close()
	out.WriteString(line)
}

func TestRequired(t *testing.T) {
	cases := []struct {
		list, name string
		want       bool
		reason     string
	}{
		{"redis-server,docker", "Docker", true, "any case"},
		{"redis-server, docker", "Docker", true, "blanks after the comma"},
		{"redis-server", "Docker", false, "not named"},
		{"", "Docker", false, "nothing is required by default"},
	}
	for _, c := range cases {
		if got := required(c.list, c.name); got != c.want {
			t.Errorf("required(%q, %q) = %v, want %v (%s)", c.list, c.name, got, c.want, c.reason)
		}
	}
}
