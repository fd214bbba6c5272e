package effects

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Config of a Source.
type Config struct {
	Spec Spec
	Dir  string   // the configuration's folder
	Env  []string // of the command
}

// Source gives rows.
type Source struct{ cfg Config }

const (
	// once is how long one question may take.
	once = 10 * time.Second
	// every is the pause between two questions.
	every = 50 * time.Millisecond
	// outputMax is more rows than a run makes.
	outputMax = 32 << 20
)

// NewSource checks the spec; nil if effects are the provider's charges.
func NewSource(cfg Config) (*Source, error) {
	s := &cfg.Spec
	switch {
	case s.Command == "" && s.URL == "":
		return nil, nil
	case s.Command != "" && s.URL != "":
		return nil, errors.New("effects: rows come from a command or from a URL, not from both")
	case s.Format != "" && s.Format != "json" && s.Format != "csv":
		return nil, fmt.Errorf("effects.format: %q is neither json nor csv", s.Format)
	}
	for _, c := range []struct {
		of    *string
		usual string
	}{{&s.Columns.Ref, "ref"}, {&s.Columns.ID, "id"}, {&s.Columns.Amount, "amount"}, {&s.Format, "json"}} {
		if *c.of == "" {
			*c.of = c.usual
		}
	}
	if s.Quiet <= 0 {
		s.Quiet = DefaultQuiet
	}
	return &Source{cfg}, nil
}

// Rest asks until nothing has changed for Quiet.
func (s *Source) Rest(ctx context.Context) ([]Row, error) {
	rows, err := s.Rows(ctx)
	for since := time.Now(); err == nil && time.Since(since) < s.cfg.Spec.Quiet; {
		if err := pause(ctx, every); err != nil {
			return nil, err
		}
		var now []Row
		if now, err = s.Rows(ctx); err == nil && !slices.Equal(rows, now) {
			rows, since = now, time.Now()
		}
	}
	return rows, err
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

// Rows asks once for all rows so far.
func (s *Source) Rows(ctx context.Context) ([]Row, error) {
	ctx, cancel := context.WithTimeout(ctx, once)
	defer cancel()
	text, err := s.ask(ctx)
	if err != nil {
		return nil, err
	}
	if s.cfg.Spec.Format == "csv" {
		return s.fromCSV(text)
	}
	return s.fromJSON(text)
}

func (s *Source) ask(ctx context.Context) ([]byte, error) {
	if s.cfg.Spec.Command != "" {
		return s.run(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cfg.Spec.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("effects.url: %w", err)
	}
	for name, value := range s.cfg.Spec.Headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("effects.url: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, outputMax))
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("effects.url: answered %d: %s", resp.StatusCode, beginning(text))
	}
	return text, err
}

func (s *Source) run(ctx context.Context) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", s.cfg.Spec.Command)
	var out, complaint bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.cfg.Dir, s.cfg.Env, &out, &complaint
	cmd.WaitDelay = time.Second
	inGroup(cmd)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("effects.command: %w: %s", err, beginning(append(complaint.Bytes(), out.Bytes()...)))
	}
	return out.Bytes(), nil
}

const beginningMax = 200

func beginning(text []byte) string {
	words := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "?")), " ")
	if words == "" {
		return "(it said nothing)"
	}
	if r := []rune(words); len(r) > beginningMax {
		return string(r[:beginningMax]) + "…"
	}
	return words
}

// fromCSV reads columns by the names in the first line.
func (s *Source) fromCSV(text []byte) ([]Row, error) {
	r := csv.NewReader(bytes.NewReader(text))
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("effects: the CSV is empty; its first line must name the columns")
	}
	if err != nil {
		return nil, fmt.Errorf("effects: %w", err)
	}
	column := func(name string) (int, error) {
		i := slices.Index(head, name)
		if i < 0 {
			return 0, fmt.Errorf("effects: the CSV has no column %q; it has %s", name, strings.Join(head, ", "))
		}
		return i, nil
	}
	var rows []Row
	for n := 2; ; n++ {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("effects: %w", err)
		}
		row, err := s.row(fmt.Sprintf("line %d", n), func(name string) (string, error) {
			i, err := column(name)
			if err != nil {
				return "", err
			}
			return fields[i], nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}

// fromJSON reads an array of objects, or one object a line.
func (s *Source) fromJSON(text []byte) ([]Row, error) {
	var all []gjson.Result
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) == 0:
	case s.cfg.Spec.Rows != "":
		found := gjson.GetBytes(trimmed, s.cfg.Spec.Rows)
		if !found.IsArray() {
			return nil, fmt.Errorf("effects.rows: there is no array at %q: %s", s.cfg.Spec.Rows, beginning(trimmed))
		}
		all = found.Array()
	case gjson.ValidBytes(trimmed) && trimmed[0] == '[':
		all = gjson.ParseBytes(trimmed).Array()
	default:
		for line := range bytes.Lines(trimmed) {
			if !gjson.ValidBytes(line) {
				return nil, fmt.Errorf("effects: neither a JSON array nor one object a line: %s", beginning(line))
			}
			all = append(all, gjson.ParseBytes(line))
		}
	}
	var rows []Row
	for i, one := range all {
		row, err := s.row(fmt.Sprintf("row %d", i+1), func(name string) (string, error) {
			v := one.Get(name)
			if !v.Exists() {
				return "", fmt.Errorf("effects: row %d has no %q: %s", i+1, name, beginning([]byte(one.Raw)))
			}
			return v.String(), nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// row reads one row by its columns' names.
func (s *Source) row(where string, get func(name string) (string, error)) (r Row, err error) {
	c := s.cfg.Spec.Columns
	if r.Ref, err = get(c.Ref); err != nil {
		return r, err
	}
	if r.ID, err = get(c.ID); err != nil {
		return r, err
	}
	amount, err := get(c.Amount)
	if err != nil {
		return r, err
	}
	if r.Amount, err = strconv.ParseInt(strings.TrimSpace(amount), 10, 64); err != nil {
		return r, fmt.Errorf("effects: %s: the amount %q is no whole number; give it in minor units (cents)", where, amount)
	}
	if r.ID == "" {
		return r, fmt.Errorf("effects: %s has an empty %s", where, c.ID)
	}
	if c.At == "" {
		return r, nil
	}
	at, err := get(c.At)
	if err != nil {
		return r, err
	}
	r.At, err = when(at)
	if err != nil {
		return r, fmt.Errorf("effects: %s: %w", where, err)
	}
	return r, nil
}

// when reads RFC 3339, and how psql prints a timestamp.
func when(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999-07", "2006-01-02 15:04:05.999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("the time %q is not like 2027-01-31T12:00:00Z", text)
}
