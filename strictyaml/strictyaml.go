// Package strictyaml reads YAML that people write: what it does not know is an
// error with file, line and column and the name that was meant.
//
// It decodes into structs by their yaml tags; a field more in a struct is a field
// more in the file. Anchors, aliases and merges (<<) work. It refuses unknown and
// repeated fields, values that are left empty, more than one document, and texts of
// a size that nobody writes, with and without aliases.
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
	// Value is asked about every scalar, with ${env:NAME} for example; where is its
	// field ("targets[0].name"). nil leaves all as they are.
	Value func(where, text string) (string, error)
	// Seen is told where each field stands, so that who checks the meaning afterwards
	// can say it too; nil tells nobody.
	Seen func(where string, line, column int)
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
		return d.syntax(err, text)
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return d.at(&more, "a second document begins; one file holds one")
	case !errors.Is(err, io.EOF):
		return d.syntax(err, text)
	}
	if len(doc.Content) != 1 {
		return &Error{File: o.File, Text: "the file is empty"}
	}
	return d.value(doc.Content[0], reflect.ValueOf(v).Elem(), "")
}

// syntax makes yaml's own error look like the others.
func (d *decoder) syntax(err error, text []byte) error {
	e := &Error{File: d.File, Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	if rest, ok := strings.CutPrefix(e.Text, "line "); ok {
		number, what, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			e.Line, e.Column, e.Text = n, 1, what
		}
	}
	if rest, ok := strings.CutPrefix(e.Text, "unknown anchor '"); ok { // it has no line
		name, _, _ := strings.Cut(rest, "'")
		before, _, _ := strings.Cut(string(text), "*"+name)
		e.Line, e.Column = 1+strings.Count(before, "\n"), 1+len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
	}
	return e
}

func (d *decoder) at(n *yaml.Node, format string, args ...any) error {
	return &Error{File: d.File, Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...)}
}

// value decodes a node into v; where is its field's name, for messages.
func (d *decoder) value(n *yaml.Node, v reflect.Value, where string) error {
	if d.nodes++; d.nodes > nodesMax {
		return d.tooMany(n)
	}
	if n.Kind == yaml.AliasNode {
		return d.value(n.Alias, v, where)
	}
	if d.Seen != nil {
		d.Seen(where, n.Line, n.Column)
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
	if null(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return d.at(n, "%s must be a mapping of %s", named(where), strings.Join(Fields(v.Type()), ", "))
	}
	pairs, err := d.pairs(n, where)
	if err != nil {
		return err
	}
	known := fields(v.Type())
	for _, p := range pairs {
		at, ok := known[p.key.Value]
		if !ok {
			return d.unknown(p.key, where, Fields(v.Type()))
		}
		if err := d.value(p.value, v.Field(at), join(where, p.key.Value)); err != nil {
			return err
		}
	}
	return nil
}

// null is nothing after a colon, null, or ~. Quotes make a text of it.
func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// pair is one line of a mapping.
type pair struct{ key, value *yaml.Node }

// pairs are a mapping's own, then those that << brings and it has not itself.
func (d *decoder) pairs(n *yaml.Node, where string) (all []pair, err error) {
	var merged []*yaml.Node
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, d.at(key, "a name in %s must be plain text", named(where))
		case key.Tag == "!!merge":
			merged = append(merged, value)
			continue
		case seen[key.Value]:
			return nil, d.at(key, "%s stands twice", key.Value)
		}
		seen[key.Value] = true
		all = append(all, pair{key, value})
	}
	for _, from := range merged {
		more, err := d.merged(from, where)
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			if !seen[p.key.Value] {
				seen[p.key.Value] = true
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// merged are the pairs of what stands behind <<: a mapping, or a list of them, of
// which the first wins.
func (d *decoder) merged(n *yaml.Node, where string) ([]pair, error) {
	if d.nodes++; d.nodes > nodesMax { // an anchor can hold itself
		return nil, d.tooMany(n)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.merged(n.Alias, where)
	case yaml.MappingNode:
		return d.pairs(n, where)
	case yaml.SequenceNode:
		var all []pair
		for _, item := range n.Content {
			more, err := d.merged(item, where)
			if err != nil {
				return nil, err
			}
			if d.nodes += len(more); d.nodes > nodesMax {
				return nil, d.tooMany(n)
			}
			all = append(all, more...)
		}
		return all, nil
	}
	return nil, d.at(n, "<< takes a mapping, or a list of them")
}

func (d *decoder) tooMany(n *yaml.Node) error {
	return d.at(n, "aliases unfold to more than %d values", nodesMax)
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
	if null(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return d.at(n, "%s must be a mapping of names to values", named(where))
	}
	pairs, err := d.pairs(n, where)
	if err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, p := range pairs {
		one := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(p.value, one, join(where, p.key.Value)); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(p.key.Value), one)
	}
	return nil
}

// list takes one value for a list of one.
func (d *decoder) list(n *yaml.Node, v reflect.Value, where string) error {
	items := n.Content
	switch {
	case null(n):
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
	switch {
	case n.Kind != yaml.ScalarNode:
		return d.at(n, "%s must be one value", named(where))
	case null(n):
		return d.at(n, `%s is left empty; leave the field out, or write ""`, named(where))
	}
	text := n.Value
	if d.Value != nil {
		var err error
		if text, err = d.Value(where, text); err != nil {
			return d.at(n, "%s: %v", where, err)
		}
	}
	if why := set(v, text); why != "" {
		return d.at(n, "%s: %q %s", where, shown(n.Value), why) // as it stands: what Value made of it may be a secret
	}
	return nil
}

// shown is enough of a text to find it again.
func shown(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// set says what is wrong with a text for a type, "" if it was set.
func set(v reflect.Value, text string) string {
	switch t := v.Type(); {
	case t == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return "is no time; write e.g. 500ms, 30s or 24h"
		}
		v.SetInt(int64(d))
	case t == reflect.TypeFor[time.Time]():
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return "is no day; write e.g. 2027-01-31"
		}
		v.Set(reflect.ValueOf(day))
	case t.Kind() == reflect.String:
		v.SetString(text)
	case t.Kind() == reflect.Bool:
		yes, no := strings.EqualFold(text, "true"), strings.EqualFold(text, "false")
		if !yes && !no {
			return "is neither true nor false"
		}
		v.SetBool(yes)
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
