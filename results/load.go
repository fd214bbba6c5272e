package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/idemrace/idemrace/history"
)

// The errors of reading. Each is one line that names the file.
var (
	// ErrDocument: the file is there, but no run document that this version can read.
	ErrDocument = errors.New("not a run document")
	// ErrNoHistory: the cell was saved without one.
	ErrNoHistory = errors.New("the cell has no history")
)

// Load reads a saved run; path is its directory or the document itself.
func Load(path string) (Run, error) {
	path = document(path)
	f, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Run{}, fmt.Errorf("no run at %s: a saved run is a directory with a %s, made by --save: %w", path, RunFile, fs.ErrNotExist)
	}
	if err != nil {
		return Run{}, err
	}
	defer f.Close()
	return Read(f, path)
}

// Open opens what has an end: a file, or a pipe that somebody fills. A device is
// refused with an error that wraps ErrDocument: /dev/zero would be read for ever. It is
// looked at before it is opened, since to open is to act for some.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s %w", path, refusal("is a directory"))
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0:
		return nil, fmt.Errorf("%s %w", path, refusal("is neither a file nor a pipe"))
	}
	return os.Open(path)
}

// document is the path of the document that path means.
func document(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, RunFile)
	}
	return path
}

// MaxDocument is how many bytes of a document are read: the largest run there is
// has a thousandth of that, and what has no end must not fill the memory.
const MaxDocument = 1 << 30

// Read reads a document from r; name is for errors. Members that it does not
// know are passed over, since later versions may add some.
func Read(r io.Reader, name string) (Run, error) { return read(r, name, MaxDocument) }

func read(r io.Reader, name string, most int64) (Run, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return Run{}, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(text)) > most {
		return Run{}, fmt.Errorf("%s %w", name, refusal("is too big for a run document (over %d MiB)", most>>20))
	}
	run, err := decode(text)
	if err != nil {
		return Run{}, fmt.Errorf("%s %w", name, err)
	}
	return run, nil
}

// decode's errors continue a sentence that begins with the file's name. The
// schema is looked at first: a complaint about a member would be a poor answer to
// a file of another kind.
func decode(text []byte) (Run, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return Run{}, refusal("is empty")
	}
	var named struct {
		Schema *string `json:"schema"`
	}
	err := json.Unmarshal(text, &named)
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrongType), err == nil && named.Schema == nil:
		return Run{}, refusal("is JSON, but has no schema %q", Schema)
	case err != nil:
		return Run{}, syntax(text, err)
	case *named.Schema != Schema:
		return Run{}, refusal("has schema %q, this version reads %q", *named.Schema, Schema)
	}
	var run Run
	if err := json.Unmarshal(text, &run); err != nil {
		return Run{}, refusal("does not fit schema %s: %v", Schema, err)
	}
	return run, sound(run)
}

// syntax tells a cut file from one that never was JSON.
func syntax(text []byte, err error) error {
	var at *json.SyntaxError
	if !errors.As(err, &at) {
		return refusal("is not JSON: %v", err)
	}
	if at.Offset >= int64(len(text)) && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return refusal("ends in the middle (byte %d): was the run interrupted while saving?", len(text))
	}
	return refusal("is not JSON (byte %d): %v", at.Offset, err)
}

// sound refuses words that no version has written: a report of them would say
// nothing, and look as if all were well. So would a run without cells, which only
// one that was interrupted can be.
func sound(run Run) error {
	if run.Gate != "" && run.Gate != GateOn && run.Gate != GateStrict {
		return refusal("has a gate %q", run.Gate)
	}
	if len(run.Cells) == 0 && !run.Interrupted {
		return refusal("holds no cells")
	}
	for _, c := range run.Cells {
		switch {
		case c.Status == NotApplicable || c.Status == CouldNotRun:
		case c.Status != Judged:
			return refusal("has a cell %s of %s with status %q", c.Scenario, c.Target, c.Status)
		case c.Verdict != held && c.Verdict != violated && c.Verdict != inconclusive:
			return refusal("has a cell %s of %s with verdict %q", c.Scenario, c.Target, c.Verdict)
		}
	}
	return nil
}

// refusalError reads as the end of a sentence, and is ErrDocument.
type refusalError string

func refusal(format string, args ...any) error { return refusalError(fmt.Sprintf(format, args...)) }

func (e refusalError) Error() string        { return string(e) }
func (e refusalError) Is(target error) bool { return target == ErrDocument }

// LoadHistory reads the history of a cell of the run saved at dir, which may be
// the document's path as well.
func LoadHistory(dir string, c Cell) (*history.History, error) {
	if c.History == "" {
		return nil, fmt.Errorf("%w: %s of %s", ErrNoHistory, c.Scenario, c.Target)
	}
	local := filepath.FromSlash(c.History)
	if !filepath.IsLocal(local) {
		return nil, fmt.Errorf("%w: the history %q of %s lies outside the run's directory", ErrDocument, c.History, CellName(c))
	}
	path := filepath.Join(filepath.Dir(document(dir)), local)
	f, err := Open(path)
	if err != nil {
		return nil, fmt.Errorf("history of %s of %s: %w", c.Scenario, c.Target, err)
	}
	defer f.Close()
	h, err := history.Read(io.LimitReader(f, MaxDocument))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}
