package cli

import (
	"fmt"
	"time"

	"github.com/idemrace/idemrace/load"
)

// loadOutput says where a load is written, and as what.
type loadOutput struct{ form, output, log string }

// loadFiles are those of a load; nil: stdout, and no log.
type loadFiles struct{ output, log *outFile }

// open opens what will be written: a path that cannot be is refused before a load of
// minutes.
func (o loadOutput) open() (*loadFiles, error) {
	files := &loadFiles{}
	var err error
	if files.output, err = openOut("--output", o.output); err != nil {
		return nil, err
	}
	if files.log, err = openOut("--hlog", o.log); err == nil && files.log != nil {
		err = files.log.empty()
	}
	if err != nil {
		files.close()
		return nil, err
	}
	return files, nil
}

// close closes the files.
func (f *loadFiles) close() {
	f.output.close()
	f.log.close()
}

// newLog begins the log, if there is to be one.
func (f *loadFiles) newLog(started time.Time) *load.Log {
	if f.log == nil {
		return nil
	}
	return load.NewLog(f.log, started)
}

// endLog says whether all of the log was written.
func (f *loadFiles) endLog(log *load.Log) error {
	if log == nil {
		return nil
	}
	f.log.done = true // as far as it goes
	if err := log.Err(); err != nil {
		return fmt.Errorf("--hlog: %w", err)
	}
	return nil
}

// write writes a document. What its file does not take goes to stdout: it may have
// taken minutes to get.
func (a *app) write(form string, files *loadFiles, d load.Document) error {
	text, err := drawLoad(d, form)
	if err != nil {
		return err
	}
	if err = a.put(files.output, text); err != nil && files.output != nil {
		_ = a.print(text)
	}
	return err
}
