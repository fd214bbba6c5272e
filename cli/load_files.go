package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/idemrace/idemrace/load"
)

// loadOutput says where a load is written, and as what.
type loadOutput struct{ form, output, log string }

// loadFile is one that will be written.
type loadFile struct {
	file *os.File
	made bool // it was not there before
	done bool // it holds what it should
}

// loadFiles are those of a load; nil: stdout, and no log.
type loadFiles struct{ output, log *loadFile }

// open opens what will be written: a path that cannot be is refused before a load of
// minutes. What stands in the output stays until there is something in its place.
func (o loadOutput) open() (*loadFiles, error) {
	files := &loadFiles{}
	var err error
	if o.output != "" && o.output != "-" {
		if files.output, err = openLoadFile("--output", o.output); err != nil {
			return nil, err
		}
	}
	if o.log != "" {
		if files.log, err = openLoadFile("--hlog", o.log); err == nil {
			err = files.log.clear()
		}
		if err != nil {
			files.close()
			return nil, err
		}
	}
	return files, nil
}

func openLoadFile(flag, path string) (*loadFile, error) {
	_, err := os.Stat(path)
	made := errors.Is(err, fs.ErrNotExist)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, usage("%s %s: %v; choose another file", flag, path, errors.Unwrap(err))
	}
	return &loadFile{file: file, made: made}, nil
}

// clear empties what can be: a pipe cannot.
func (f *loadFile) clear() error {
	info, err := f.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return f.file.Truncate(0)
}

// close closes the files, and takes away those that were made for nothing.
func (f *loadFiles) close() {
	for _, one := range []*loadFile{f.output, f.log} {
		if one == nil {
			continue
		}
		_ = one.file.Close()
		if one.made && !one.done {
			_ = os.Remove(one.file.Name())
		}
	}
}

// newLog begins the log, if there is to be one.
func (f *loadFiles) newLog(started time.Time) *load.Log {
	if f.log == nil {
		return nil
	}
	return load.NewLog(f.log.file, started)
}

// endLog says whether all of the log was written.
func (f *loadFiles) endLog(log *load.Log) error {
	if log == nil {
		return nil
	}
	if err := log.Err(); err != nil {
		return fmt.Errorf("--hlog: %w", err)
	}
	return nil
}

// write writes a document. A log is written by now.
func (a *app) write(form string, files *loadFiles, d load.Document) error {
	if files.log != nil {
		files.log.done = true
	}
	text, err := drawLoad(d, form)
	if err != nil {
		return err
	}
	if files.output == nil {
		return a.print(text)
	}
	if err := files.output.clear(); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	if _, err := files.output.file.Write(text); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	files.output.done = true
	return nil
}
