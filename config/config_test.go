package config

import (
	"strings"
	"testing"
)

func TestRefusals(t *testing.T) {
	for _, row := range []struct{ why, text, want string }{
		{"misspelt", least + "    request:\n      tmeout: 5s\n", `idemrace.yaml:5:7: unknown field "tmeout" of targets[0].request; did you mean timeout?`},
		{"no duration", least + "    request: {timeout: 5}\n", `"5" is no time; write e.g. 500ms`},
		{"no whole number", "targets: [{name: a, workers: {command: x, count: 1.5}}]", "is no whole number"},
		{"twice", least + "    store: none\n    store: redis\n", "idemrace.yaml:5:5: store stands twice"},
		{"two documents", least + "---\n" + least, "a second document begins"},
		{"empty", "", "the file is empty"},
		{"comments only", "# nothing\n", "the file is empty"},
		{"no YAML", "targets: [\n", "idemrace.yaml:"},
		{"unset", least + "    request: {headers: {A: \"${env:NOWHERE}\"}}\n", "NOWHERE is not set in the environment"},
		{"live key", least + "    request: {headers: {Authorization: Bearer sk_live_abc123}}\n", "looks like a live key"},
		{"two of one name", least + "  - name: shop\n    workers: http://127.0.0.1:1\n", "two targets are named shop"},
		{"no workers", "targets: [{name: a}]", "give urls of running ones, or a command"},
		{"both", "targets: [{name: a, workers: {urls: [http://127.0.0.1:1], command: x}}]", "not both"},
		{"a bad template", least + "    request: {body: \"{{.Amont}}\"}\n", "request.body"},
		{"a template that does not parse", least + "    request: {body: \"{{.Amount\"}\n", "request.body"},
		{"an unknown profile", least + "    profile: itef\n", "is one of any, ietf, stripe"},
		{"an unknown store", least + "    store: postgres\n", "neither redis nor none"},
		{"an unknown ref", least + "    effects: {ref: key}\n", "effects.ref"},
		{"accept of nothing", least + "accept: [{invariant: effect/at-most-onse, scenario: burst, reason: x, until: 2027-01-31}]", "unknown invariant"},
		{"a bomb", "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", "unknown field"},
	} {
		_, err := Parse([]byte(row.text), ".", noEnv)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.why, err, row.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error has several lines: %q", row.why, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"TOKEN": "s3cret-token", "N": "7"}[name]
		return v, ok
	}
	cfg, err := Parse([]byte(least+"    request: {headers: {A: \"Bearer ${env:TOKEN}\", B: \"${env:MISSING:-x}\", C: \"$${env:TOKEN}\", D: \"${env:N}\"}}\n"), ".", env)
	if err != nil {
		t.Fatal(err)
	}
	h := cfg.Targets[0].Request.Headers
	if h["A"] != "Bearer s3cret-token" || h["B"] != "x" || h["C"] != "${env:TOKEN}" || h["D"] != "7" {
		t.Errorf("headers are %v", h)
	}
	if len(cfg.Secrets) != 1 || cfg.Secrets[0] != "s3cret-token" {
		t.Errorf("secrets are %v; short values would blot out half a report", cfg.Secrets)
	}
}

func TestSimpleAndRemote(t *testing.T) {
	cfg, err := Simple("http://127.0.0.1:8080/charges?x=1")
	if err != nil || cfg.Targets[0].Request.Path != "/charges?x=1" || cfg.Targets[0].Workers.URLs[0] != "http://127.0.0.1:8080" || len(cfg.Remote()) != 0 {
		t.Errorf("%+v, %v", cfg, err)
	}
	away, _ := Simple("https://api.example.com/charges")
	if r := away.Remote(); len(r) != 1 || r[0] != "api.example.com" {
		t.Errorf("remote: %v", r)
	}
	for _, bad := range []string{"", "payments", "ftp://127.0.0.1/x", "http://"} {
		if _, err := Simple(bad); err == nil {
			t.Errorf("%q is taken for a service", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(Template()))
	f.Add(least)
	f.Fuzz(func(t *testing.T, text string) { _, _ = Parse([]byte(text), ".", noEnv) })
}
