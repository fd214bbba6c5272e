package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/idemrace/idemrace/strictyaml"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(least + "    tls: {ca: ca.pem}\n")
	cfg, err := Load(path, noEnv)
	if err != nil || cfg.Dir != dir || cfg.Targets[0].TLS.CA != filepath.Join(dir, "ca.pem") {
		t.Errorf("paths are the file's: %+v, %v", cfg, err)
	}
	write(least + "    zebra: 1\n")
	if _, err := Load(path, noEnv); err == nil || !strings.HasPrefix(err.Error(), path+":4:5: ") {
		t.Errorf("the error does not begin with the file and the place: %v", err)
	}
	write("# " + strings.Repeat("x", 1<<20))
	if _, err := Load(path, noEnv); err == nil || !strings.Contains(err.Error(), "more than 1 MiB is no configuration") {
		t.Errorf("a big file: %v", err)
	}
	if _, err := Load("/dev/zero", noEnv); err == nil || !strings.Contains(err.Error(), "1 MiB") {
		t.Errorf("a file without end: %v", err)
	}
	if _, err := Load(dir, noEnv); err == nil || !strings.Contains(err.Error(), "is a directory; give the file in it") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "none.yaml"), noEnv); err == nil || !strings.Contains(err.Error(), "does not exist; idemrace init writes one") {
		t.Errorf("no file: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	cfg, err := Parse([]byte(least+`    request:
      headers:
        A: "Bearer ${env:TOKEN}, ${env:TOKEN}"
        B: "${env:MISSING:-x:-y}${env:MISSING:-}"
        C: "$${env:TOKEN} $${x}"
        D: "${env:N}"
        "${env:TOKEN}": a name is left as it is
    setup: {command: "echo ${HOME:-x} $${y} ${env:N} $${env:N}"}
`), ".", someEnv)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"A": "Bearer s3cret-token, s3cret-token", "B": "x:-y", "C": "${env:TOKEN} ${x}", "D": "2", "${env:TOKEN}": "a name is left as it is"}
	if diff := cmp.Diff(want, cfg.Targets[0].Request.Headers); diff != "" {
		t.Error(diff)
	}
	if got := cfg.Targets[0].Setup[0].Command; got != "echo ${HOME:-x} $${y} 2 ${env:N}" {
		t.Errorf("what is the shell's is left to it: %s", got)
	}
	if !slices.Equal(cfg.Secrets, []string{"s3cret-token"}) {
		t.Errorf("secrets are %q; short values would blot out half a report", cfg.Secrets)
	}
}

// The keys are put together here, so that nobody's search for keys finds this file.
func TestLiveKeysAreRefused(t *testing.T) {
	for _, row := range []struct{ why, text, place string }{
		{"in a value", least + "    request: {headers: {Authorization: Bearer sk_LIVE_abc123}}\n", ":4:47: "},
		{"in a comment", "# ü rk_LIVE_abc123\n" + least, ":1:5: "},
		{"in a name", least + "    tenants: {pk_LIVE_abc123: {}}\n", ":4:15: "},
		{"at the beginning", "sk_LIVE_abc123", ":1:1: "},
		{"after a sign", least + "    request: {body: \"key=_sk_LIVE_abc123\"}\n", ":4:27: "},
	} {
		_, err := Parse([]byte(strings.ReplaceAll(row.text, "LIVE", "live")), ".", noEnv)
		if err == nil || !strings.Contains(err.Error(), row.place+"this looks like a live key") || strings.Contains(err.Error(), "abc123") {
			t.Errorf("%s: %v, want it refused at %s", row.why, err, row.place)
		}
	}
	for _, text := range []string{"sk_test_abc123", "task_live_1", "sk_live_"} {
		if _, err := Parse([]byte("# "+text+"\n"+least), ".", noEnv); err != nil {
			t.Errorf("%s is no live key: %v", text, err)
		}
	}
	halves := func(name string) (string, bool) { return map[string]string{"A": "sk_li", "B": "ve_abc123"}[name], true }
	if _, err := Parse([]byte(least+"    request: {body: \"${env:A}${env:B}\"}\n"), ".", halves); err == nil {
		t.Error("two halves make a live key")
	}
	if _, err := Simple("http://127.0.0.1/?key=sk" + "_live_abc123"); err == nil {
		t.Error("a URL holds a live key")
	}
}

// Aliases of aliases of lists: a file of a kilobyte that means a milliard steps.
func TestABombDoesNotGoOff(t *testing.T) {
	var b strings.Builder
	thousand := func(item string) string { return strings.TrimSuffix(strings.Repeat(item+", ", 1000), ", ") }
	fmt.Fprintf(&b, "targets:\n  - &t {name: shop, workers: http://127.0.0.1:1, setup: [&s {command: x, capture: {a: b}}, %s]}\n", thousand("*s"))
	fmt.Fprintf(&b, "  - %s\n", strings.Repeat("*t\n  - ", 1000)+"*t")
	_, err := Parse([]byte(b.String()), ".", noEnv)
	if err == nil || !strings.Contains(err.Error(), "aliases unfold to more than 100000 values") {
		t.Errorf("%.200v", err)
	}
}

func TestSimpleAndRemote(t *testing.T) {
	cfg, err := Simple("http://127.0.0.1:8080/charges?x=1")
	if err != nil || cfg.Targets[0].Request.Path != "/charges?x=1" || cfg.Targets[0].Workers.URLs[0] != "http://127.0.0.1:8080" || len(cfg.Remote()) != 0 {
		t.Errorf("%+v, %v", cfg, err)
	}
	for _, bad := range []string{"", "payments", "ftp://127.0.0.1/x", "http://"} {
		if _, err := Simple(bad); err == nil {
			t.Errorf("%q is taken for a service", bad)
		}
	}
	for _, row := range []struct{ text, want string }{
		{"{name: a, workers: [http://localhost:1, 'http://[::1]:1', http://127.9.9.9]}", ""},
		{"{name: a, workers: [https://api.example.com/x, http://10.0.0.1]}", "api.example.com 10.0.0.1"},
		{"{name: a, workers: http://localhost, provider: {listen: '0.0.0.0:1'}}", "0.0.0.0"},
		{"{name: a, workers: http://localhost, store: {listen: ':1'}}", ":1 (all addresses)"},
		{"{name: a, workers: http://localhost, effects: {url: 'http://db.example.com/rows'}}", "db.example.com"},
		{"{name: a, workers: http://localhost, setup: {http: {url: 'http://id.example.com/token'}}}", "id.example.com"},
		{"{name: a, workers: http://localhost, teardown: {http: {url: '/carts/{{.Vars.cart}}'}}}", ""},
	} {
		cfg, err := Parse([]byte("targets: ["+row.text+"]"), ".", noEnv)
		if got := strings.Join(cfg.Remote(), " "); err != nil || got != row.want {
			t.Errorf("%s: remote is %q, want %q; %v", row.text, got, row.want, err)
		}
	}
}

// optional is what begins a line of the template that is left out.
const optional = "#- "

func TestTemplateParsesWithAndWithoutItsComments(t *testing.T) {
	s := compiled(t)
	accepted := func(what, text string) {
		t.Helper()
		if _, err := Parse([]byte(text), ".", noEnv); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := validates(s, text); err != nil {
			t.Errorf("%s: the schema refuses it: %v", what, err)
		}
	}
	accepted("as it is written", string(Template()))
	lines := strings.Split(string(Template()), "\n")
	tried := 0
	for i, line := range lines {
		before, after, found := strings.Cut(line, optional)
		if !found || strings.TrimSpace(before) != "" {
			continue
		}
		tried++
		one := slices.Clone(lines)
		one[i] = before + after
		accepted(fmt.Sprintf("line %d, %q", i+1, line), strings.Join(one, "\n"))
	}
	if tried < 25 {
		t.Errorf("%d lines were tried", tried)
	}
}

// Every field of the types is shown, but for those that have a short form in its
// place.
func TestTemplateShowsEveryField(t *testing.T) {
	shorter := map[string]string{"config.Store.kind": "store: redis", "worker.Spec.urls": "workers: [http", "httptarget.Profile.waits": "wait"}
	for typ := range reachable(reflect.TypeFor[Config](), map[reflect.Type]bool{}) {
		for _, name := range strictyaml.Fields(typ) {
			form := shorter[typ.String()+"."+name]
			if form == "" {
				form = name + ":"
			}
			if !regexp.MustCompile(`(?m)(^|[ {])` + regexp.QuoteMeta(form)).Match(Template()) {
				t.Errorf("the template does not show %s of %s", name, typ)
			}
		}
	}
	if !bytes.HasPrefix(Template(), []byte("# yaml-language-server: $schema=https://")) {
		t.Error("the first line tells editors of the schema")
	}
}

// normal is a configuration as one writes it in full.
func normal(t *testing.T, cfg Config) []byte {
	t.Helper()
	text, err := yaml.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("${"), []byte("$${"))
	return regexp.MustCompile(`(until: \d{4}-\d\d-\d\d)T00:00:00Z`).ReplaceAll(text, []byte("$1"))
}

func TestWhatIsReadIsReadAgain(t *testing.T) {
	texts := []string{string(Template())}
	for _, f := range corpus(t, "good.txtar") {
		texts = append(texts, string(f.Data))
	}
	for _, text := range texts {
		first, err := Parse([]byte(text), ".", someEnv)
		if err != nil {
			t.Error(err)
			continue
		}
		again, err := Parse(normal(t, first), ".", someEnv)
		first.Secrets = nil
		if diff := cmp.Diff(first, again); err != nil || diff != "" && !strings.Contains(text, "${") {
			t.Errorf("%s\n%v\n%s", text, err, diff)
		}
	}
}

// Examples are what people copy.
func TestExamplesAreRead(t *testing.T) {
	files, err := filepath.Glob("../examples/*/idemrace*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	s := compiled(t)
	for _, path := range files {
		if _, err := Load(path, noEnv); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := validates(s, string(text)); err != nil {
			t.Errorf("%s: the schema refuses it: %v", path, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(Template()))
	for _, name := range []string{"good.txtar", "bad.txtar", "senseless.txtar"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n-- ") {
			_, body, _ := strings.Cut(part, "\n")
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := Parse([]byte(text), ".", noEnv)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the refusal has several lines: %q", err)
			}
			return
		}
		if _, err := Parse(normal(t, cfg), ".", noEnv); err != nil {
			t.Errorf("it is not read again: %v\n%s", err, normal(t, cfg))
		}
	})
}
