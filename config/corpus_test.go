package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const least = "targets:\n  - name: shop\n    workers: http://127.0.0.1:8080\n"

func noEnv(string) (string, bool) { return "", false }

// someEnv is the environment of the corpus.
func someEnv(name string) (string, bool) {
	v, ok := map[string]string{"TOKEN": "s3cret-token", "N": "2", "NAME": "shop", "STRIPE": "sk" + "_live_abc123"}[name]
	return v, ok
}

// asJSON is what a schema sees of a YAML text.
func asJSON(text string) (any, error) {
	var v, more any
	d := yaml.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is a second document")
	}
	raw, err := json.Marshal(dated(v))
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(raw))
}

// dated: a day is text to the schema, as it is to the decoder.
func dated(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.DateOnly)
	case map[string]any:
		for k := range v {
			v[k] = dated(v[k])
		}
	case []any:
		for i := range v {
			v[i] = dated(v[i])
		}
	}
	return v
}

func validates(s *jsonschema.Schema, text string) error {
	doc, err := asJSON(text)
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

func corpus(t *testing.T, name string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile("testdata/" + name)
	if err != nil || len(a.Files) < 5 {
		t.Fatalf("%s: %d files, %v", name, len(a.Files), err)
	}
	return a.Files
}

// What the decoder accepts the schema accepts.
func TestGoodFiles(t *testing.T) {
	s := compiled(t)
	for _, f := range corpus(t, "good.txtar") {
		if _, err := Parse(f.Data, ".", someEnv); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if err := validates(s, string(f.Data)); err != nil {
			t.Errorf("%s: the schema refuses it: %v", f.Name, err)
		}
	}
}

// placed is how a refusal begins.
var placed = regexp.MustCompile(`^idemrace\.yaml:[1-9][0-9]*:[1-9][0-9]*: `)

// refused holds that the decoder refuses a file with the line that the file's last
// one demands.
func refused(t *testing.T, f txtar.File) {
	t.Helper()
	text, want, ok := strings.Cut(string(f.Data), "# WANT ")
	want = strings.TrimSpace(want)
	if !ok || want == "" {
		t.Fatalf("%s does not say what it wants", f.Name)
	}
	_, err := Parse([]byte(text), ".", someEnv)
	switch {
	case err == nil || !strings.Contains(err.Error(), want):
		t.Errorf("%s:\n got %v\nwant %s", f.Name, err, want)
	case strings.Contains(err.Error(), "\n"):
		t.Errorf("%s: the refusal has several lines: %q", f.Name, err)
	case !placed.MatchString(err.Error()) && !strings.Contains(err.Error(), "empty"):
		t.Errorf("%s: the refusal has no place: %q", f.Name, err)
	case strings.Contains(err.Error(), "s3cret"), strings.Contains(err.Error(), "_live_"):
		t.Errorf("%s: the refusal tells a secret: %q", f.Name, err)
	}
}

// What the schema refuses the decoder refuses, and the reverse.
func TestBadFiles(t *testing.T) {
	s := compiled(t)
	for _, f := range corpus(t, "bad.txtar") {
		refused(t, f)
		text, _, _ := strings.Cut(string(f.Data), "# WANT ")
		if validates(s, text) == nil {
			t.Errorf("%s: the schema accepts it", f.Name)
		}
	}
}

// Some things a schema cannot say: they are here so that a schema which learns one
// moves it to the other file.
func TestFilesThatMakeNoSense(t *testing.T) {
	s := compiled(t)
	for _, f := range corpus(t, "senseless.txtar") {
		refused(t, f)
		text, _, _ := strings.Cut(string(f.Data), "# WANT ")
		if err := validates(s, text); err != nil {
			t.Errorf("%s: the schema refuses it too, so it belongs to bad.txtar: %v", f.Name, err)
		}
	}
}
