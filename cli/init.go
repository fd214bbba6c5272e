package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/config"
)

// Names of the files that init writes.
const (
	initFile   = "idemrace.yaml"
	schemaFile = "idemrace.schema.json"
)

// initFlags are those of init.
type initFlags struct{ force, schema bool }

func (a *app) initVerb() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented idemrace.yaml to begin with",
		Long: "init writes a configuration with which a service that a command starts can be raced,\n" +
			"and in which every other field stands in a comment. A file that is there already is\n" +
			"left alone.",
		Example: "  idemrace init\n  idemrace init race/idemrace.yaml --schema\n  idemrace init --force",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("init takes one file, got %d; see idemrace init --help", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			path := initFile
			if len(args) > 0 {
				path = args[0]
			}
			return a.initialise(path, f)
		},
	}
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite what is there")
	cmd.Flags().BoolVar(&f.schema, "schema", false, "write "+schemaFile+" beside it too, for editors without network")
	return cmd
}

// initialise writes the schema first: a configuration that is there refers to one
// that is.
func (a *app) initialise(path string, f initFlags) error {
	text := config.Template()
	if f.schema {
		beside := filepath.Join(filepath.Dir(path), schemaFile)
		if err := checkAbsent(path, f.force); err != nil {
			return err
		}
		if err := writeNew(beside, config.Schema(), f.force); err != nil {
			return err
		}
		_, rest, _ := bytes.Cut(text, []byte("\n"))
		text = append([]byte("# yaml-language-server: $schema=./"+schemaFile+"\n"), rest...)
	}
	if err := writeNew(path, text, f.force); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "%s is written. Say in it how your service is started and asked, then:\n  %s\n",
		path, a.called("idemrace run --config "+shellWord(path)+" --scenario in-flight"))
	return err
}

// checkAbsent refuses a path at which something is.
func checkAbsent(path string, force bool) error {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return usage("the file has no name; give one, or leave it away: idemrace init")
	case err == nil && info.IsDir():
		return usage("%s is a directory; name the file: idemrace init %s", path, shellWord(filepath.Join(path, initFile)))
	case err == nil && !force:
		return usage("%s is there already; --force overwrites it, or name another: idemrace init FILE", path)
	case errors.Is(err, fs.ErrNotExist) || err == nil:
		return nil
	}
	return usage("%s: %v; choose another file", path, errors.Unwrap(err))
}

// writeNew writes a file as a whole or not at all. Without force it never takes
// another's place, one's neither that comes at this moment.
func writeNew(path string, text []byte, force bool) (err error) {
	if err := checkAbsent(path, force); err != nil {
		return err
	}
	staged, err := os.CreateTemp(filepath.Dir(path), ".idemrace-*")
	if err != nil {
		return usage("%s: cannot write there: %v; choose another file, or make its directory", path, errors.Unwrap(err))
	}
	defer os.Remove(staged.Name())
	_, err = staged.Write(text)
	if err = errors.Join(err, staged.Chmod(0o644), staged.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if force {
		err = os.Rename(staged.Name(), path)
	} else {
		err = os.Link(staged.Name(), path) // unlike a renaming, it overwrites nothing
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return usage("%s is there already; --force overwrites it, or name another: idemrace init FILE", path)
	case err != nil:
		return usage("%s: cannot write there: %v; choose another file", path, errors.Unwrap(err))
	}
	return nil
}
