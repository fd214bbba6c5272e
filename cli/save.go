package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/idemrace/idemrace/results"
)

// checkSave refuses, before anything runs, a directory that a run cannot be
// saved in: one that holds something else, or that cannot be written.
func checkSave(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkWritable(dir, existing(dir))
	case err != nil:
		return usage("--save %s: %v; choose another directory", dir, err)
	case !info.IsDir():
		return usage("--save %s: it is a file; choose a directory", dir)
	}
	inside, err := os.ReadDir(dir)
	if err != nil {
		return usage("--save %s: %v; choose another directory", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, results.RunFile)); err != nil && len(inside) > 0 {
		return usage("--save %s: it holds files, but no run; choose an empty directory or one with a saved run", dir)
	}
	return checkWritable(dir, dir)
}

// existing is the nearest directory above that is there.
func existing(dir string) string {
	for {
		parent := filepath.Dir(dir)
		if _, err := os.Stat(parent); err == nil || parent == dir {
			return parent
		}
		dir = parent
	}
}

// checkWritable tries, since permissions say little: file systems can be
// read-only, and root may write everywhere.
func checkWritable(dir, place string) error {
	f, err := os.CreateTemp(place, ".idemrace-*")
	if err != nil {
		return usage("--save %s: cannot write there: %v; choose another directory", dir, errors.Unwrap(err))
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	return nil
}
