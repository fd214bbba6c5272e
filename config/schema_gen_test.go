package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/idemrace/idemrace/strictyaml"
	"github.com/idemrace/idemrace/target/httptarget"
	"github.com/idemrace/idemrace/target/worker"
)

var update = flag.Bool("update", false, "write idemrace.schema.json anew from the types")

// schemaOf describes a type as the decoder reads it.
func schemaOf(t reflect.Type) map[string]any {
	text := map[string]any{"type": "string"}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "string", "description": "a time: 500ms, 30s, 24h"}
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "description": "a day: 2027-01-31"}
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem())
	case t.Kind() == reflect.Slice:
		item := schemaOf(t.Elem())
		return map[string]any{"oneOf": []any{map[string]any{"type": "array", "items": item}, item}}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": []any{"object", "null"}, "additionalProperties": schemaOf(t.Elem())}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return map[string]any{"type": "integer"}
	case t.Kind() != reflect.Struct:
		return text
	}
	properties := map[string]any{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			properties[name] = schemaOf(t.Field(i).Type)
		}
	}
	object := map[string]any{"type": []any{"object", "null"}, "additionalProperties": false, "properties": properties}
	switch t {
	case reflect.TypeFor[httptarget.Profile]():
		properties["in-flight"] = map[string]any{"oneOf": []any{properties["in-flight"], map[string]any{"const": "wait"}}}
		return map[string]any{"oneOf": []any{object, map[string]any{"enum": []any{"any", "ietf", "stripe"}}}}
	case reflect.TypeFor[Store]():
		return map[string]any{"oneOf": []any{object, map[string]any{"enum": []any{Redis, None}}}}
	case reflect.TypeFor[worker.Spec]():
		return map[string]any{"oneOf": []any{object, text, map[string]any{"type": "array", "items": text}}}
	}
	return object
}

func generated(t *testing.T) []byte {
	t.Helper()
	root := schemaOf(reflect.TypeFor[Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "idemrace.yaml"
	root["type"] = "object"
	root["required"] = []any{"targets"}
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// The schema that editors use is made of the types that the decoder reads into.
func TestSchemaIsTheTypes(t *testing.T) {
	want := generated(t)
	if *update {
		if err := os.WriteFile("idemrace.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(Schema(), want) {
		t.Error("idemrace.schema.json is old; go test ./config -run TestSchemaIsTheTypes -update writes it anew")
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("idemrace.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("idemrace.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is what a schema sees of a YAML text.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(dated(v))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return doc
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

const least = "targets:\n  - name: shop\n    workers: http://127.0.0.1:8080\n"

// What the one accepts the other accepts, and the reverse.
func TestSchemaAgreesWithTheDecoder(t *testing.T) {
	s := compiled(t)
	for _, row := range []struct {
		why, text string
		good      bool
	}{
		{"the least", least, true},
		{"a profile by name", least + "    profile: ietf\n", true},
		{"a profile's fields", least + "    profile: {in-flight: [409, 423], lease: 2s}\n", true},
		{"one status for a list", least + "    profile: {in-flight: 409}\n", true},
		{"waiting", least + "    profile: {in-flight: wait}\n", true},
		{"several URLs", "targets: [{name: shop, workers: [http://127.0.0.1:1, http://127.0.0.1:2]}]", true},
		{"no store", least + "    store: none\n", true},
		{"a day", least + "accept: [{invariant: effect/at-most-once, scenario: burst, reason: x, until: 2027-01-31}]", true},
		{"a misspelt field", least + "    profil: ietf\n", false},
		{"a misspelt inner field", least + "    request: {tmeout: 5s}\n", false},
		{"no targets", "run: [burst]\n", false},
		{"a list where a mapping must be", least + "    request: [1]\n", false},
		{"a text where a number must be", "targets: [{name: shop, workers: {command: x, count: two}}]", false},
	} {
		_, decoding := Parse([]byte(row.text), ".", noEnv)
		validating := s.Validate(asJSON(t, row.text))
		if (decoding == nil) != row.good || (validating == nil) != row.good {
			t.Errorf("%s: want accepted %v; the decoder says %v, the schema %v", row.why, row.good, decoding, validating)
		}
	}
}

func noEnv(string) (string, bool) { return "", false }

func TestTemplateParsesWithAndWithoutItsComments(t *testing.T) {
	if _, err := Parse(Template(), ".", noEnv); err != nil {
		t.Fatal(err)
	}
	s := compiled(t)
	lines := strings.Split(string(Template()), "\n")
	tried := 0
	for i, line := range lines {
		at := strings.Index(line, "#- ")
		if at < 0 {
			continue
		}
		tried++
		one := append([]string(nil), lines...)
		one[i] = line[:at] + line[at+3:]
		text := strings.Join(one, "\n")
		if strings.Contains(line, "command: psql") {
			text = strings.Replace(text, "#- format", "format", 1)
		}
		if _, err := Parse([]byte(text), ".", noEnv); err != nil {
			t.Errorf("line %d, %q, does not stand as it is: %v", i+1, line, err)
		}
		if err := s.Validate(asJSON(t, text)); err != nil {
			t.Errorf("line %d, %q: the schema refuses it: %v", i+1, line, err)
		}
	}
	if tried < 25 {
		t.Errorf("%d lines were tried", tried)
	}
	for _, f := range [][]string{strictyaml.Fields(reflect.TypeFor[Service]()), strictyaml.Fields(reflect.TypeFor[httptarget.Request]()), strictyaml.Fields(reflect.TypeFor[httptarget.Profile]()), strictyaml.Fields(reflect.TypeFor[worker.Spec]())} {
		for _, name := range f {
			if !strings.Contains(string(Template()), name+":") && name != "url" && name != "urls" && name != "waits" {
				t.Errorf("the template does not show %s", name)
			}
		}
	}
}
