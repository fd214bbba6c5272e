package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/idemrace/idemrace/history"
)

// The names inside a saved run's directory.
const (
	RunFile    = "run.json"
	HistoryDir = "history"
)

// CellName names a cell in a way that every file system takes: no two pairs of
// scenario and target have one name, also where the case of letters is ignored.
// A run has each pair once.
func CellName(c Cell) string { return fileSafe(c.Scenario) + "." + fileSafe(c.Target) }

// fileSafe keeps a-z, 0-9, - and _ and writes every other byte as %xx.
func fileSafe(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// Save keeps a run in dir, which is made if need be: run.json, and the histories
// (by CellName) under history/. Everything is first written under other names and
// then renamed, run.json last: what Load finds is whole. On an error nothing half
// written is left, and a run saved there before still stands. Afterwards nothing is
// left of that one: the histories that its document names and the new one does not
// are removed. What no document names is not ours and stays.
func Save(dir string, run Run, histories map[string]*history.History) error {
	s := &saving{dir: dir}
	run = withPaths(run, histories)
	earlier, _ := Load(dir) // a run that cannot be read names nothing
	err := s.stage(run, histories)
	if err == nil {
		err = s.publish()
	}
	if err == nil {
		forget(dir, earlier, run)
	}
	if err != nil {
		s.undo()
		return fmt.Errorf("cannot save the run in %s: %w", dir, err)
	}
	return nil
}

// forget removes the earlier run's histories. The new run is whole already: one
// that cannot be removed is a file too many, and no reason to say that saving
// failed.
func forget(dir string, earlier, now Run) {
	keep := map[string]bool{}
	for _, c := range now.Cells {
		keep[c.History] = true
	}
	for _, c := range earlier.Cells {
		name := path.Base(c.History)
		if c.History == HistoryDir+"/"+name && path.Ext(name) == ".jsonl" && !keep[c.History] {
			_ = os.Remove(filepath.Join(dir, HistoryDir, name))
		}
	}
}

// withPaths tells each cell where its history will be.
func withPaths(run Run, histories map[string]*history.History) Run {
	run = tidy(run)
	for i := range run.Cells {
		c := &run.Cells[i]
		c.History = ""
		if histories[CellName(*c)] != nil {
			c.History = HistoryDir + "/" + CellName(*c) + ".jsonl"
		}
	}
	return run
}

// saving is one save under way.
type saving struct {
	dir    string
	made   []string    // directories that were not there before, outermost first
	staged [][2]string // temporary name, final name; in order of renaming
}

func (s *saving) stage(run Run, histories map[string]*history.History) error {
	if err := s.makeDirs(); err != nil {
		return err
	}
	for _, c := range run.Cells {
		h := histories[CellName(c)]
		if h == nil {
			continue
		}
		err := s.write(filepath.FromSlash(c.History), func(w io.Writer) error { return history.Write(w, h) })
		if err != nil {
			return err
		}
	}
	return s.write(RunFile, func(w io.Writer) error { return Encode(w, run) })
}

// makeDirs remembers which directories are new, so that a failed save can take
// them away again.
func (s *saving) makeDirs() error {
	for d := filepath.Join(s.dir, HistoryDir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		s.made = append([]string{d}, s.made...)
	}
	return os.MkdirAll(filepath.Join(s.dir, HistoryDir), 0o755)
}

// write stages one file. It is synced, since a full disk may show only then.
func (s *saving) write(name string, fill func(io.Writer) error) (err error) {
	final := filepath.Join(s.dir, name)
	f, err := os.CreateTemp(filepath.Dir(final), ".saving-*")
	if err != nil {
		return err
	}
	s.staged = append(s.staged, [2]string{f.Name(), final})
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	if err := fill(f); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	return f.Sync()
}

func (s *saving) publish() error {
	for len(s.staged) > 0 {
		if err := os.Rename(s.staged[0][0], s.staged[0][1]); err != nil {
			return err
		}
		s.staged = s.staged[1:]
	}
	return nil
}

// undo removes what was staged; os.Remove leaves directories that hold anything.
func (s *saving) undo() {
	for _, names := range s.staged {
		_ = os.Remove(names[0])
	}
	for i := len(s.made) - 1; i >= 0; i-- {
		_ = os.Remove(s.made[i])
	}
}
