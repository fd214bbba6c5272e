package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrFormat is wrapped by every error of Read that lies in the file itself.
var ErrFormat = errors.New("not a history")

// firstLine is the header as it stands in a file: with the number of events, so
// that a file cut at the end of a line is known to be cut.
type firstLine struct {
	Header
	Events int `json:"events"`
}

// Write writes h as JSON lines: the header, then one event a line.
func Write(w io.Writer, h *History) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false) // the file is read by eye, too
	if err := enc.Encode(firstLine{h.Header, len(h.Events)}); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	for _, e := range h.Events {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("history: event %d: %w", e.Seq, err)
		}
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// Read reads what Write wrote, and nothing else: a cut file, another schema, a
// field or kind it does not know, events out of order are errors that wrap
// ErrFormat and name the line. A judge that guessed at what is missing would
// call a half history clean.
func Read(r io.Reader) (*History, error) {
	in := lines{r: bufio.NewReader(r)}
	var first firstLine
	if err := in.header(&first); err != nil {
		return nil, err
	}
	h := &History{Header: first.Header}
	for {
		var e Event
		err := in.next(&e)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = in.admit(e, len(h.Events)+1, first.Events)
		}
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, e)
	}
	if len(h.Events) != first.Events {
		return nil, in.fault("the file is cut: it ends after %d of %d events", len(h.Events), first.Events)
	}
	return h, nil
}

// lines reads one JSON value a line and knows the line's number.
type lines struct {
	r *bufio.Reader
	n int
}

// fault is the one shape of Read's errors.
func (l *lines) fault(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrFormat, l.n, fmt.Sprintf(format, args...))
}

// next decodes the next line into v; io.EOF means that there is none.
func (l *lines) next(v any) error {
	line, err := l.r.ReadBytes('\n')
	if err == io.EOF && len(line) == 0 {
		return io.EOF
	}
	l.n++
	if err == io.EOF {
		return l.fault("the file is cut: the line has no end")
	}
	if err != nil {
		return fmt.Errorf("history: line %d: %w", l.n, err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return l.fault("%v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return l.fault("more than one value on the line")
	}
	return nil
}

// header reads the first line. The schema is looked at before anything else:
// "unknown field" would be a poor answer to a file of another version.
func (l *lines) header(first *firstLine) error {
	var raw json.RawMessage
	err := l.next(&raw)
	if err == io.EOF {
		l.n = 1
		return l.fault("the file is empty")
	}
	if err != nil {
		return err
	}
	var named struct{ Schema string }
	if err := json.Unmarshal(raw, &named); err != nil {
		return l.fault("%v", err)
	}
	if named.Schema != Schema {
		return l.fault("schema %q, want %q", named.Schema, Schema)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(first); err != nil {
		return l.fault("%v", err)
	}
	if first.Events < 0 {
		return l.fault("events %d", first.Events)
	}
	return nil
}

// admit checks an event that has been decoded.
func (l *lines) admit(e Event, want, total int) error {
	if want > total {
		return l.fault("one event more than the %d that the header announces", total)
	}
	if e.Seq != want {
		return l.fault("event %d stands where event %d belongs", e.Seq, want)
	}
	if !e.Kind.Known() {
		return l.fault("unknown kind %q", e.Kind)
	}
	return nil
}

// Known reports whether k is one of the kinds above.
func (k Kind) Known() bool {
	switch k {
	case Send, Answer, HangUp, Run, Ran, StoreCall, StoreReturn, Arrive, Commit, Reply, Void,
		Orphan, Fault, RecordSeen, Settled:
		return true
	}
	return false
}
