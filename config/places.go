package config

import (
	"fmt"
	"strings"

	"github.com/idemrace/idemrace/strictyaml"
)

// places are where each field of a file stands.
type places struct {
	file string
	all  map[string]place // by field: "targets[0].request.body"
}

type place struct{ line, column int }

func (p places) seen(where string, line, column int) { p.all[where] = place{line, column} }

// written: the file holds the field.
func (p places) written(where string) bool { _, ok := p.all[where]; return ok }

// refuse is an error about a field, or about the next one above it that the file
// holds.
func (p places) refuse(where, format string, args ...any) error {
	e := &strictyaml.Error{File: p.file, Text: oneLine(fmt.Sprintf(format, args...))}
	for {
		if at, ok := p.all[where]; ok {
			e.Line, e.Column = at.line, at.column
			return e
		}
		if where == "" {
			return e
		}
		where = above(where)
	}
}

// about is refuse for an error of another room, whose text begins with the field
// below where that it is about ("request.body: …"), if with any.
func (p places) about(where, name string, err error) error {
	field, _, _ := strings.Cut(err.Error(), ":")
	field, _, _ = strings.Cut(field, " ")
	return p.refuse(where+"."+field, "%s: %v", name, err)
}

// above is the field that holds a field.
func above(where string) string { return where[:max(0, strings.LastIndexAny(where, ".["))] }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
