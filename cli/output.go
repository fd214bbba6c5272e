package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/report"
	"github.com/idemrace/idemrace/results"
)

// defaultFormat is for people.
const defaultFormat = "table"

// outputFlags say how a run is shown, where, and what closes the gate.
type outputFlags struct {
	formats []string
	path    string
	gate    gate
}

func (f *outputFlags) add(cmd *cobra.Command) {
	f.addFormat(cmd, defaultFormat)
	f.addGate(cmd, "")
}

// addSaved is for verbs that show a saved run, which may have a gate already.
func (f *outputFlags) addSaved(cmd *cobra.Command) {
	f.addFormat(cmd, defaultFormat)
	f.addGate(cmd, "; off: none (default: the gate that the run had)")
	f.gate = gateSaved
}

func (f *outputFlags) addGate(cmd *cobra.Command, more string) {
	fs := cmd.Flags()
	fs.Var(&f.gate, "gate", "exit 1 on any double charge; strict: in at-least-once scenarios too"+more)
	if more != "" {
		fs.Lookup("gate").DefValue = ""
	}
	fs.Lookup("gate").NoOptDefVal = string(gateOn)
	_ = cmd.RegisterFlagCompletionFunc("gate", cobra.FixedCompletions([]string{"on", "strict", "off"}, cobra.ShellCompDirectiveNoFileComp))
}

// addFormat is for verbs without a gate.
func (f *outputFlags) addFormat(cmd *cobra.Command, usual string) {
	f.gate = gateOff
	fs := cmd.Flags()
	fs.StringSliceVar(&f.formats, "format", []string{usual}, "`format`: "+strings.Join(formatNames(), ", ")+"; repeatable as format=file")
	fs.StringVarP(&f.path, "output", "o", "", "write to this `file` instead of stdout")
	complete(cmd, "format", formatNames)
}

func formatNames() []string {
	var names []string
	for _, f := range report.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// sink is one format and where it goes: to file, or to stdout if that is nil.
type sink struct {
	format report.Format
	file   *outFile
}

// output is everywhere a run goes.
type output struct {
	app   *app
	sinks []sink
}

// open opens everything that will be written, so that a path that cannot be is
// refused before anything runs. What stands in a file stays there until there is
// something to put in its place.
func (f *outputFlags) open(a *app) (out *output, err error) {
	out = &output{app: a}
	defer func() {
		if err != nil {
			out.close()
		}
	}()
	onStdout := ""
	for _, wanted := range f.formats {
		name, path, named := strings.Cut(wanted, "=")
		switch {
		case name == "":
			return out, usage("--format %q names no format; write e.g. --format table,json=run.json", strings.Join(f.formats, ","))
		case named && path == "":
			return out, usage("--format %s names no file; write %s=FILE, or %s alone for stdout", wanted, name, name)
		}
		format, err := report.Lookup(name)
		if err != nil {
			return out, about("format", unknown("format", name, formatNames(), "idemrace list formats"))
		}
		if !named {
			if onStdout != "" {
				return out, usage("--format %s and %s would be mixed up in one output; give one a file: --format %s=FILE", onStdout, name, name)
			}
			onStdout, path = name, f.path
		}
		another := "--output"
		if named {
			another = "--format " + name + "=FILE"
		}
		if err := out.add(format, path, another); err != nil {
			return out, err
		}
	}
	if len(out.sinks) == 0 {
		return out, usage("--format names no format; see: idemrace list formats")
	}
	if f.path != "" && onStdout == "" {
		return out, usage("--output %s: every --format has a file of its own already; leave one away", f.path)
	}
	return out, nil
}

// checkMatrix refuses a matrix where there will be none, before anything runs.
func (f *outputFlags) checkMatrix() error {
	for _, wanted := range f.formats {
		if name, _, _ := strings.Cut(wanted, "="); name == matrixFormat {
			return usage("--format %s is a selftest's; try: idemrace selftest", name)
		}
	}
	return nil
}

// add opens the place for a format; another is the flag by which to choose one
// that can be written.
func (o *output) add(format report.Format, path, another string) error {
	file, err := openOut(another, path)
	if err == nil {
		o.sinks = append(o.sinks, sink{format: format, file: file})
	}
	return err
}

// close closes the files.
func (o *output) close() {
	for _, s := range o.sinks {
		s.file.close()
	}
}

// write writes a run in every chosen format. One that fails keeps no other from
// being written.
func (o *output) write(run results.Run) error {
	var errs []error
	for _, s := range o.sinks {
		errs = append(errs, o.writeOne(s, run))
	}
	return errors.Join(errs...)
}

func (o *output) writeOne(s sink, run results.Run) error {
	text, err := o.draw(s, run)
	if err != nil {
		return err
	}
	return o.app.put(s.file, text)
}

func (o *output) draw(s sink, run results.Run) ([]byte, error) {
	opt := report.Options{Verbose: o.app.flags.verbose, Color: o.app.flags.color == colorAlways, Command: o.app.name}
	if s.file == nil {
		opt.Color, opt.Width = o.app.color(o.app.stdout), width(o.app.stdout)
	}
	var text bytes.Buffer
	if err := s.format.Draw(&text, run, opt); err != nil {
		if errors.Is(err, report.ErrNoSelftest) {
			return nil, usage("--format %s: %w", s.format.Name, err)
		}
		return nil, fmt.Errorf("format %s: %w", s.format.Name, err)
	}
	return text.Bytes(), nil
}

// print writes to stdout. Whoever closed it has had enough, and that is no error.
func (a *app) print(text []byte) error {
	if _, err := a.stdout.Write(text); err != nil && !readerGone(err) {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	return nil
}

// lastWords is where the exit line goes: under what is for people on stdout, else
// to stderr, for a document must not be followed by words.
func (o *output) lastWords() io.Writer {
	onStdout := func(s sink) bool {
		return s.file == nil && (s.format.Name == defaultFormat || s.format.Name == matrixFormat)
	}
	if slices.ContainsFunc(o.sinks, onStdout) {
		return o.app.stdout
	}
	return o.app.stderr
}
