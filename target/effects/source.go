package effects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Config of a Source.
type Config struct {
	Spec Spec
	Dir  string   // the configuration's folder
	Env  []string // of the command
}

// Source gives rows.
type Source struct {
	spec   Spec
	dir    string
	env    []string
	client *http.Client
	// refless: effects are told by their amount, so a row need not hold a ref.
	refless bool
}

// Formats of rows.
const (
	formatJSON = "json"
	formatCSV  = "csv"
)

// every is the pause between two questions.
const every = 50 * time.Millisecond

// NewSource checks the spec; nil if effects are the provider's charges. Errors begin
// with the field.
func NewSource(cfg Config) (*Source, error) {
	s := cfg.Spec
	switch {
	case s.Format != "" && s.Format != formatJSON && s.Format != formatCSV:
		return nil, fmt.Errorf("effects.format: %q is neither %s nor %s", s.Format, formatJSON, formatCSV)
	case s.Quiet < 0:
		return nil, fmt.Errorf("effects.quiet: %s is less than nothing", s.Quiet)
	case s.Command != "" && s.URL != "":
		return nil, errors.New("effects: rows come from a command or from a URL, not from both")
	case s.Command == "" && s.URL == "":
		return nil, nil
	case s.Format == formatCSV && s.Rows != "":
		return nil, errors.New("effects.rows: it is a path into JSON, and the format is csv")
	}
	if err := checkURL(s.URL); err != nil {
		return nil, err
	}
	by, err := Attribute(s.Ref)
	if err != nil {
		return nil, err
	}
	refless := by.ByAmount() && s.Columns.Ref == ""
	s.Columns.Ref = cmp.Or(s.Columns.Ref, "ref")
	s.Columns.ID = cmp.Or(s.Columns.ID, "id")
	s.Columns.Amount = cmp.Or(s.Columns.Amount, "amount")
	s.Format = cmp.Or(s.Format, formatJSON)
	s.Quiet = cmp.Or(s.Quiet, DefaultQuiet)
	return &Source{spec: s, dir: cfg.Dir, env: cfg.Env, client: newClient(), refless: refless}, nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("effects.url: %q is no URL; write e.g. http://127.0.0.1:8080/charges", text)
	}
	return nil
}

// Rest asks until nothing has changed for Quiet, or ctx ends.
func (s *Source) Rest(ctx context.Context) ([]Row, error) {
	rows, err := s.Rows(ctx)
	for since := time.Now(); err == nil && time.Since(since) < s.spec.Quiet; {
		if err := pause(ctx, every); err != nil {
			return nil, err
		}
		var now []Row
		if now, err = s.Rows(ctx); err == nil && !same(rows, now) {
			rows, since = now, time.Now()
		}
	}
	return rows, err
}

// same compares without regard to order: a table gives its rows as it likes.
func same(a, b []Row) bool { return slices.Equal(sorted(a), sorted(b)) }

func sorted(rows []Row) []Row {
	return slices.SortedFunc(slices.Values(rows), func(a, b Row) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Ref, b.Ref), cmp.Compare(a.Amount, b.Amount), a.At.Compare(b.At))
	})
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Rows asks once for all rows so far. Errors say the row and the column.
func (s *Source) Rows(ctx context.Context) ([]Row, error) {
	text, err := s.ask(ctx)
	if err != nil {
		return nil, err
	}
	var rows []Row
	if s.spec.Format == formatCSV {
		rows, err = s.fromCSV(text)
	} else {
		rows, err = s.fromJSON(text)
	}
	return told(rows), err
}

// told tells rows of one id apart: each row is an effect. Where that is not so (a
// join), the first request shows it, which must make one.
func told(rows []Row) []Row {
	times := map[string]int{}
	for i, r := range rows {
		if times[r.ID]++; times[r.ID] > 1 {
			rows[i].ID = fmt.Sprintf("%s#%d", r.ID, times[r.ID])
		}
	}
	return rows
}
