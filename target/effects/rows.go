package effects

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// line is one row before it is read.
type line struct {
	name string // "row 3", "line 4"
	// get is the text of a column; ok is false if the row has no such.
	get func(column string) (text string, ok bool)
}

// fromCSV reads columns by the names in the first line.
func (s *Source) fromCSV(text []byte) ([]Row, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the CSV is empty; its first line must name the columns")
	}
	if err != nil {
		return nil, fmt.Errorf("the CSV: %w", err)
	}
	if err := s.checkHead(head); err != nil {
		return nil, err
	}
	var rows []Row
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the CSV: %w", err)
		}
		n, _ := r.FieldPos(0)
		row, err := s.row(line{fmt.Sprintf("line %d", n), func(column string) (string, bool) {
			i := slices.Index(head, column)
			return fields[max(i, 0)], i >= 0
		}})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}

// checkHead: a name that is misspelt shows while there is no row yet.
func (s *Source) checkHead(head []string) error {
	for _, name := range s.columns() {
		first := slices.Index(head, name)
		switch {
		case first < 0:
			return fmt.Errorf("the CSV has no column %q; it has %s", name, strings.Join(head, ", "))
		case slices.Contains(head[first+1:], name):
			return fmt.Errorf("the CSV has two columns %q; which is meant?", name)
		}
	}
	return nil
}

// columns are those that each row must have.
func (s *Source) columns() []string {
	c := s.spec.Columns
	names := []string{c.ID, c.Amount}
	if !s.refless {
		names = append(names, c.Ref)
	}
	if c.At != "" {
		names = append(names, c.At)
	}
	return names
}

// fromJSON reads an array of objects, or one object a line.
func (s *Source) fromJSON(text []byte) ([]Row, error) {
	all, err := s.objects(bytes.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i, one := range all {
		name := fmt.Sprintf("row %d", i+1)
		if !one.IsObject() {
			return nil, fmt.Errorf("%s is no object: %s", name, beginning([]byte(one.Raw)))
		}
		row, err := s.row(line{name, func(column string) (string, bool) { return member(one, column) }})
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, beginning([]byte(one.Raw)))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// member is a value as it stands: 100.00 is not 100, since it is hardly cents.
func member(object gjson.Result, path string) (string, bool) {
	v := object.Get(path)
	if v.Type == gjson.Number {
		return v.Raw, true
	}
	return v.String(), v.Exists()
}

func (s *Source) objects(text []byte) ([]gjson.Result, error) {
	if s.spec.Rows != "" {
		found := gjson.GetBytes(text, s.spec.Rows)
		if !gjson.ValidBytes(text) || !found.IsArray() {
			return nil, fmt.Errorf("there is no array at rows: %s: %s", s.spec.Rows, beginning(text))
		}
		return found.Array(), nil
	}
	if gjson.ValidBytes(text) && text[0] == '[' {
		return gjson.ParseBytes(text).Array(), nil
	}
	var all []gjson.Result
	for one := range bytes.Lines(text) {
		switch one = bytes.TrimSpace(one); {
		case len(one) == 0:
			continue
		case !gjson.ValidBytes(one):
			return nil, fmt.Errorf("neither a JSON array nor one object a line (an array inside an object is named by rows): %s", beginning(text))
		}
		all = append(all, gjson.ParseBytes(one))
	}
	return all, nil
}

// row reads one row by its columns' names.
func (s *Source) row(l line) (r Row, err error) {
	c := s.spec.Columns
	if r.ID, err = l.must(c.ID); err != nil {
		return r, err
	}
	if r.Ref, err = l.must(c.Ref); err != nil && !s.refless {
		return r, fmt.Errorf("%w; each row must say whose it is", err)
	}
	amount, err := l.must(c.Amount)
	if err != nil {
		return r, err
	}
	if r.Amount, err = strconv.ParseInt(strings.TrimSpace(amount), 10, 64); err != nil {
		return r, fmt.Errorf("%s, %s: the amount %q is no whole number; give it in minor units (cents)", l.name, c.Amount, amount)
	}
	if c.At == "" {
		return r, nil
	}
	at, ok := l.get(c.At)
	if !ok {
		return r, fmt.Errorf("%s has no %s", l.name, c.At)
	}
	if r.At, ok = when(at); !ok {
		return r, fmt.Errorf("%s, %s: the time %q is not like 2027-01-31T12:00:00Z", l.name, c.At, at)
	}
	return r, nil
}

// must is a column that no row may leave empty.
func (l line) must(column string) (string, error) {
	text, ok := l.get(column)
	switch {
	case !ok:
		return "", fmt.Errorf("%s has no %s", l.name, column)
	case strings.TrimSpace(text) == "":
		return "", fmt.Errorf("%s, %s: it is empty", l.name, column)
	}
	return text, nil
}

// when reads RFC 3339, how psql prints a timestamp, and nothing as nothing. All
// are UTC: two readings of one time must be equal.
func when(text string) (time.Time, bool) {
	if text == "" {
		return time.Time{}, true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05-07", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}
