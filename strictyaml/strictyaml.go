// Package strictyaml reads YAML that people write: what it does not know is an
// error with file, line and column and the name that was meant.
//
// It decodes into structs by their yaml tags. It refuses unknown and repeated
// fields, more than one document, and texts of a size that nobody writes.
package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Options of Decode.
type Options struct {
	File string // for messages
	// Value is asked about every scalar, with ${env:NAME} for example; nil leaves all
	// as they are.
	Value func(text string) (string, error)
	// Short turns a short form of a type into its long one: a scalar into a mapping.
	// It may return the node as it is.
	Short map[reflect.Type]func(n *yaml.Node) (*yaml.Node, error)
}

// Error says where and what.
type Error struct {
	File         string
	Line, Column int
	Text         string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

const (
	// sizeMax is far beyond what anybody writes by hand.
	sizeMax = 1 << 20
	// nodesMax bounds what aliases may unfold to.
	nodesMax = 100_000
)

// decoder walks one document.
type decoder struct {
	Options
	nodes int
}

// Decode reads text into v, a pointer to a struct.
func Decode(text []byte, v any, o Options) error {
	d := &decoder{Options: o}
	if len(text) > sizeMax {
		return &Error{File: o.File, Text: fmt.Sprintf("the file has %d bytes; more than 1 MiB is no configuration", len(text))}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return &Error{File: o.File, Text: "the file is empty"}
	case err != nil:
		return d.syntax(err)
	}
	if err := dec.Decode(&more); err == nil {
		return d.at(&more, "a second document begins; one file holds one")
	}
	if len(doc.Content) != 1 {
		return &Error{File: o.File, Text: "the file is empty"}
	}
	return d.value(doc.Content[0], reflect.ValueOf(v).Elem(), "")
}

// syntax makes yaml's own error look like the others.
func (d *decoder) syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &Error{File: d.File, Text: text}
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, what, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			e.Line, e.Column, e.Text = n, 1, what
		}
	}
	return e
}

func (d *decoder) at(n *yaml.Node, format string, args ...any) error {
	return &Error{File: d.File, Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...)}
}

// value decodes a node into v; where is its field's name, for messages.
func (d *decoder) value(n *yaml.Node, v reflect.Value, where string) error {
	if d.nodes++; d.nodes > nodesMax {
		return d.at(n, "aliases unfold to more than %d values", nodesMax)
	}
	if n.Kind == yaml.AliasNode {
		return d.value(n.Alias, v, where)
	}
	if short := d.Short[v.Type()]; short != nil {
		long, err := short(n)
		if err != nil {
			return d.at(n, "%s: %v", where, err)
		}
		n = long
	}
	switch t := v.Type(); {
	case t == reflect.TypeFor[time.Duration](), t == reflect.TypeFor[time.Time]():
		return d.scalar(n, v, where)
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		return d.value(n, v.Elem(), where)
	case t.Kind() == reflect.Struct:
		return d.object(n, v, where)
	case t.Kind() == reflect.Map:
		return d.mapping(n, v, where)
	case t.Kind() == reflect.Slice:
		return d.list(n, v, where)
	}
	return d.scalar(n, v, where)
}

// fields are a struct's by their names in YAML.
func fields(t reflect.Type) map[string]int {
	all := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			all[name] = i
		}
	}
	return all
}

// Fields lists a struct's names in YAML, sorted.
func Fields(t reflect.Type) []string {
	var names []string
	for name := range fields(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (d *decoder) object(n *yaml.Node, v reflect.Value, where string) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return d.at(n, "%s must be a mapping of %s", named(where), strings.Join(Fields(v.Type()), ", "))
	}
	known, seen := fields(v.Type()), map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at, ok := known[key.Value]
		if !ok {
			return d.unknown(key, where, Fields(v.Type()))
		}
		if seen[key.Value] {
			return d.at(key, "%s stands twice", key.Value)
		}
		seen[key.Value] = true
		if err := d.value(value, v.Field(at), join(where, key.Value)); err != nil {
			return err
		}
	}
	return nil
}

func join(where, name string) string {
	if where == "" {
		return name
	}
	return where + "." + name
}

func named(where string) string {
	if where == "" {
		return "the file"
	}
	return where
}

func (d *decoder) unknown(key *yaml.Node, where string, names []string) error {
	text := fmt.Sprintf("unknown field %q", key.Value)
	if where != "" {
		text += " of " + where
	}
	if near := Nearest(key.Value, names); near != "" {
		return d.at(key, "%s; did you mean %s?", text, near)
	}
	return d.at(key, "%s; it has %s", text, strings.Join(names, ", "))
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, where string) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return d.at(n, "%s must be a mapping of names to values", named(where))
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if v.MapIndex(reflect.ValueOf(key.Value)).IsValid() {
			return d.at(key, "%s stands twice", key.Value)
		}
		one := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(n.Content[i+1], one, join(where, key.Value)); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key.Value), one)
	}
	return nil
}

// list takes one value for a list of one.
func (d *decoder) list(n *yaml.Node, v reflect.Value, where string) error {
	items := n.Content
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil
	case n.Kind != yaml.SequenceNode:
		items = []*yaml.Node{n}
	}
	for i, item := range items {
		one := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(item, one, fmt.Sprintf("%s[%d]", where, i)); err != nil {
			return err
		}
		v.Set(reflect.Append(v, one))
	}
	return nil
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, where string) error {
	if n.Kind != yaml.ScalarNode {
		return d.at(n, "%s must be one value", named(where))
	}
	text := n.Value
	if d.Value != nil {
		var err error
		if text, err = d.Value(text); err != nil {
			return d.at(n, "%s: %v", where, err)
		}
	}
	if why := set(v, text); why != "" {
		return d.at(n, "%s: %q %s", where, text, why)
	}
	return nil
}

// set says what is wrong with a text for a type, "" if it was set.
func set(v reflect.Value, text string) string {
	switch t := v.Type(); {
	case t == reflect.TypeFor[time.Duration]():
		dur, err := time.ParseDuration(text)
		if err != nil {
			return "is no time; write e.g. 500ms, 30s or 24h"
		}
		v.SetInt(int64(dur))
	case t == reflect.TypeFor[time.Time]():
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return "is no day; write e.g. 2027-01-31"
		}
		v.Set(reflect.ValueOf(day))
	case t.Kind() == reflect.String:
		v.SetString(text)
	case t.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return "is neither true nor false"
		}
		v.SetBool(text == "true")
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "is no whole number"
		}
		v.SetInt(n)
	case t.Kind() == reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "is no number"
		}
		v.SetFloat(n)
	default:
		return "cannot be read into " + t.String()
	}
	return ""
}
