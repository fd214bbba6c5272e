package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/idemrace/idemrace/cli"
)

const planted = "s3cr3t-t0ken-of-the-shop"

// blabber is a service that says its secret wherever it can, and keeps keys in
// memory. Its provider listens at a port that was free a moment ago.
func blabber(t *testing.T, provider string) string {
	t.Helper()
	var known sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		key := r.Header.Get("Idempotency-Key")
		if answer, ok := known.Load(key); ok {
			fmt.Fprint(w, answer)
			return
		}
		body, _ := io.ReadAll(r.Body)
		resp, err := http.Post("http://"+provider+"/charges", "application/json", bytes.NewReader(body))
		if err != nil {
			http.Error(w, "no provider for "+r.Header.Get("Authorization"), http.StatusInternalServerError)
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusCreated {
			http.Error(w, r.Header.Get("Authorization")+" was refused: "+string(text), http.StatusBadGateway)
			return
		}
		answer := strings.TrimSuffix(strings.TrimSpace(string(text)), "}") + fmt.Sprintf(`, "token": %q}`, r.Header.Get("Authorization"))
		known.Store(key, answer)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// A secret that comes from the environment stands in no output, whatever the service
// does with it.
func TestPlantedSecretAppearsNowhere(t *testing.T) {
	dir, provider := t.TempDir(), freePort(t)
	file := filepath.Join(dir, "idemrace.yaml")
	text := fmt.Sprintf(`targets:
  - name: shop
    request: {path: /charges, headers: {Authorization: "Bearer ${env:SHOP_TOKEN}"}}
    answer: {compare: [charge, body, "header:X-Echo"]}
    workers: %s
    store: none
    provider: {listen: %q}
    effects: {ref: "field:ref", quiet: 50ms}
`, blabber(t, provider), provider)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	run := func(args ...string) int {
		return cli.Run(context.Background(), cli.Config{Args: args, Stdout: &said, Stderr: &said, Environ: append(os.Environ(), "SHOP_TOKEN="+planted)})
	}
	formats := "table,json=" + dir + "/run.json,junit=" + dir + "/junit.xml,markdown=" + dir + "/run.md,github=" + dir + "/github"
	if code := run("run", "--config", file, "--store", "embedded", "--scenario", "in-flight,provider-error,sequential-retry,decline", "-v", "--format", formats, "--save", dir+"/saved"); code != 1 {
		t.Errorf("exit %d; a cache in memory is no idempotency:\n%s", code, said.String())
	}
	run("run", "--config", file, "--scenario", "in-flight", "--dry-run")
	run("check", dir+"/saved", "-v")
	if strings.Contains(said.String(), planted) {
		t.Errorf("the secret was said:\n%s", said.String())
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(planted)) {
			t.Errorf("the secret stands in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Each mistake is one line with a next step, and the exit code of its kind.
func TestServiceRefusals(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	shop := "targets: [{name: shop, workers: http://127.0.0.1:1, store: none}]\n"
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, row := range []struct {
		why  string
		args []string
		code int
		want string
	}{
		{"no such file", []string{"--config", dir + "/none.yaml"}, 2, "idemrace init writes one"},
		{"misspelt", []string{"--config", write("a.yaml", "targets: [{nmae: shop}]\n")}, 2, "did you mean name?"},
		{"unknown target", []string{"--config", write("b.yaml", shop), "--target", "shpo"}, 2, "did you mean shop?"},
		{"a name where a URL must be", []string{"--target", "shop"}, 2, "http://127.0.0.1:8080/charges"},
		{"remote", []string{"--target", "https://api.example.com/charges"}, 2, "--allow-remote"},
		{"two of one name", []string{"--target", "http://127.0.0.1:1/a", "--target", "http://127.0.0.1:1/b"}, 2, "two targets are named"},
		{"unknown scenario", []string{"--config", write("c.yaml", shop), "--scenario", "inflight"}, 2, "did you mean in-flight?"},
		{"unknown accepted scenario", []string{"--config", write("d.yaml", shop+"accept: [{invariant: effect/at-most-once, scenario: brst, reason: x, until: 2099-01-01}]\n")}, 2, "did you mean burst?"},
		{"a scenario file that is not there", []string{"--config", write("e.yaml", shop+"scenarios: [./mine.yaml]\n")}, 2, "mine.yaml"},
		{"nobody listens", []string{"--config", write("g.yaml", "targets: [{name: shop, workers: {urls: http://127.0.0.1:1, ready-within: 100ms}, store: none}]\n")}, 4, "nothing listens"},
		{"a port in use", []string{"--config", write("f.yaml", "targets: [{name: shop, workers: http://127.0.0.1:1, store: none, provider: {listen: \""+taken.Addr().String()+"\"}}]\n")}, 4, "address already in use"},
	} {
		var out, errs bytes.Buffer
		args := append([]string{"run", "--store", "embedded", "-q"}, row.args...)
		code := cli.Run(context.Background(), cli.Config{Args: args, Stdout: &out, Stderr: &errs})
		lines := strings.Count(strings.TrimSpace(errs.String()), "\n") + 1
		if code != row.code || !strings.Contains(errs.String(), row.want) || lines != 1 {
			t.Errorf("%s: exit %d, %d lines: %s; want %d and %q", row.why, code, lines, errs.String(), row.code, row.want)
		}
	}
}
