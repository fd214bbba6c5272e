package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/idemrace/idemrace/strictyaml"
	"github.com/idemrace/idemrace/target/effects"
	"github.com/idemrace/idemrace/target/hook"
	"github.com/idemrace/idemrace/target/httptarget"
	"github.com/idemrace/idemrace/target/worker"
)

var update = flag.Bool("update", false, "write idemrace.schema.json anew from the types")

// object is a part of a schema.
type object = map[string]any

// fromEnv: any value can come from the environment.
const fromEnv = `|\$\{env:`

// generator makes the schema of the types that the decoder reads into. What it
// knows besides is in the table of limits.
type generator struct {
	defs     object
	comments map[string]string // by "httptarget.Request.Timeout"
}

// limits are what a field's type does not say, by "httptarget.Profile.errors".
func limits() map[string]object {
	words := func(all ...string) object {
		return object{"anyOf": []any{object{"enum": all}, object{"pattern": fromEnv[1:]}}}
	}
	statuses := object{"minimum": 100, "maximum": 599}
	return map[string]object{
		"config.Service.name":            {"pattern": plainName.String() + fromEnv},
		"config.Config.targets":          {"minItems": 1},
		"config.Store.kind":              words(Redis, None),
		"worker.Spec.count":              {"minimum": 1, "maximum": workersMost},
		"worker.Spec.urls":               {"pattern": "^https?://" + fromEnv, "maxItems": workersMost},
		"effects.Spec.format":            words("json", "csv"),
		"effects.Spec.ref":               {"pattern": "^$|^amount$|^description$|^(field|header|metadata):." + fromEnv},
		"hook.Step.per":                  words(hook.PerRun, hook.PerRef),
		"httptarget.Profile.name":        words(httptarget.ProfileNames()...),
		"httptarget.Profile.in-flight":   statuses,
		"httptarget.Profile.reuse":       statuses,
		"httptarget.Profile.missing-key": statuses,
		"httptarget.Profile.store-down":  words(httptarget.StoreOpen, httptarget.StoreClosed),
		"httptarget.Profile.errors":      words(httptarget.ErrorsCached, httptarget.ErrorsReleased),
	}
}

// required are the fields without which a file makes no sense.
func required() map[string][]string {
	return map[string][]string{
		"config.Config":  {"targets"},
		"config.Service": {"name", "workers"},
		"config.Accept":  {"invariant", "scenario", "reason", "until"},
	}
}

// defaults stand in the comments by their names in Go.
func defaults() *strings.Replacer {
	return strings.NewReplacer("DefaultReadyWithin", worker.DefaultReadyWithin.String(), "DefaultStopWithin", worker.DefaultStopWithin.String(),
		"DefaultBody", httptarget.DefaultBody, "DefaultQuiet", effects.DefaultQuiet.String(), "ControlWithin", worker.ControlWithin.String(),
		"DefaultTimeout", "see idemrace init", "\n", " ")
}

// of describes a type; limit is of its texts and numbers.
func (g *generator) of(t reflect.Type, limit object) object {
	scalar := func(pattern string, types ...any) object {
		s := object{"type": append([]any{"string"}, types...)}
		if pattern != "" {
			s["pattern"] = pattern + fromEnv
		}
		for k, v := range limit {
			s[k] = v
		}
		return s
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		s := scalar(`^\+?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`, "integer")
		s["minimum"], s["maximum"] = 0, 0 // a number that is a time: none but this
		return s
	case t == reflect.TypeFor[time.Time]():
		return scalar(`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`)
	case t.Kind() == reflect.Pointer:
		return g.of(t.Elem(), limit)
	case t.Kind() == reflect.Slice:
		return g.list(t, limit)
	case t.Kind() == reflect.Map:
		return object{"type": []any{"object", "null"}, "additionalProperties": g.of(t.Elem(), limit)}
	case t.Kind() == reflect.Bool:
		return scalar("^(true|false)$", "boolean")
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return scalar("^[-+]?[0-9]+$", "integer")
	case t.Kind() == reflect.Struct:
		return g.ref(t)
	}
	return scalar("", "number", "boolean") // X-Version: 2 is a text too
}

// list takes one value for a list of one.
func (g *generator) list(t reflect.Type, limit object) object {
	many := object{"type": []any{"array", "null"}}
	one := object{}
	for k, v := range limit {
		if k == "minItems" || k == "maxItems" {
			many[k] = v
			many["type"] = "array"
		} else {
			one[k] = v
		}
	}
	item := g.of(t.Elem(), one)
	many["items"] = item
	return object{"anyOf": []any{many, item}}
}

// ref describes a struct once, and a short form beside it.
func (g *generator) ref(t reflect.Type) object {
	name := t.String()
	if g.defs[name] == nil {
		g.defs[name] = object{} // while it is made
		g.defs[name] = g.structure(t)
	}
	long := object{"$ref": "#/$defs/" + name}
	var short object
	switch t {
	case reflect.TypeFor[httptarget.Profile]():
		short = g.of(reflect.TypeFor[string](), limits()["httptarget.Profile.name"])
	case reflect.TypeFor[Store]():
		short = g.of(reflect.TypeFor[string](), limits()["config.Store.kind"])
	case reflect.TypeFor[worker.Spec]():
		short = g.of(reflect.TypeFor[[]string](), limits()["worker.Spec.urls"])
	default:
		return long
	}
	return object{"anyOf": []any{long, short}}
}

func (g *generator) structure(t reflect.Type) object {
	properties := object{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		p := g.of(f.Type, limits()[t.String()+"."+name])
		if t == reflect.TypeFor[httptarget.Profile]() && name == "in-flight" {
			p = object{"anyOf": []any{p, object{"const": "wait"}}}
		}
		if said := g.comments[t.String()+"."+f.Name]; said != "" {
			p = object{"description": said, "allOf": []any{p}}
		}
		properties[name] = p
	}
	s := object{"type": []any{"object", "null"}, "additionalProperties": false, "properties": properties}
	if names := required()[t.String()]; names != nil {
		s["required"], s["type"] = names, "object"
	}
	return s
}

// commentsOf are those of the fields of a folder's structs.
func commentsOf(t *testing.T, dir string, into map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			for i := 0; ok && i < len(s.Fields.List); i++ {
				f := s.Fields.List[i]
				for _, name := range f.Names {
					text := strings.TrimSpace(f.Doc.Text() + f.Comment.Text())
					into[fmt.Sprintf("%s.%s.%s", file.Name.Name, spec.Name.Name, name.Name)] = defaults().Replace(text)
				}
			}
			return true
		})
	}
}

func generated(t *testing.T) []byte {
	t.Helper()
	g := &generator{defs: object{}, comments: map[string]string{}}
	for _, dir := range []string{".", "../target/httptarget", "../target/worker", "../target/effects", "../target/hook"} {
		commentsOf(t, dir, g.comments)
	}
	root := g.ref(reflect.TypeFor[Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "idemrace.yaml"
	root["$defs"] = g.defs
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

// The generator could forget a field, or the decoder: every name that one knows the
// other must know, by a way of its own.
func TestSchemaAndDecoderKnowTheSameFields(t *testing.T) {
	var doc struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	types := reachable(reflect.TypeFor[Config](), map[reflect.Type]bool{})
	if len(types) != len(doc.Defs) || len(types) < 12 {
		t.Errorf("the schema has %d definitions, the decoder reads %d structs", len(doc.Defs), len(types))
	}
	for typ := range types {
		known := strictyaml.Fields(typ)
		def := doc.Defs[typ.String()]
		if len(known) != len(def.Properties) {
			t.Errorf("%s: the decoder knows %q, the schema %d fields", typ, known, len(def.Properties))
		}
		for _, name := range known {
			if def.Properties[name] == nil {
				t.Errorf("%s: the schema does not know %s", typ, name)
			}
		}
	}
	for name := range limits() {
		typ, field := name[:strings.LastIndexByte(name, '.')], name[strings.LastIndexByte(name, '.')+1:]
		if doc.Defs[typ].Properties[field] == nil {
			t.Errorf("there is a limit of %s, and no such field", name)
		}
	}
}

// reachable are the structs that a type holds, itself too.
func reachable(t reflect.Type, seen map[reflect.Type]bool) map[reflect.Type]bool {
	switch {
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Pointer:
		return reachable(t.Elem(), seen)
	case t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || seen[t]:
		return seen
	}
	seen[t] = true
	for i := range t.NumField() {
		reachable(t.Field(i).Type, seen)
	}
	return seen
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
