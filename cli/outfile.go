package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// outFile is a file that will be written.
type outFile struct {
	*os.File
	made bool // it was not there before
	done bool // it holds what it should
}

// openOut opens a file before anything runs, so that a path that cannot be written is
// refused then; flag is by which to choose another. What stands in it stays until there
// is something to put in its place. Without a path, or with "-", it is nil: stdout.
func openOut(flag, path string) (*outFile, error) {
	if path == "" || path == "-" {
		return nil, nil
	}
	_, err := os.Stat(path)
	made := errors.Is(err, fs.ErrNotExist)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, usage("cannot write the result: %v; choose another %s", err, flag)
	}
	return &outFile{File: file, made: made}, nil
}

// empty takes away what stood in it. A pipe has nothing.
func (f *outFile) empty() error {
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	if err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	return nil
}

// put puts a text in the place of what stood there.
func (f *outFile) put(text []byte) error {
	if err := f.empty(); err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	f.done = true
	return nil
}

// close closes the file, and takes it away if it was made for nothing. It may be nil.
func (f *outFile) close() {
	if f == nil {
		return
	}
	_ = f.Close()
	if f.made && !f.done {
		_ = os.Remove(f.Name())
	}
}

// put puts a text into a file, or on stdout if that is nil.
func (a *app) put(file *outFile, text []byte) error {
	if file == nil {
		return a.print(text)
	}
	return file.put(text)
}
