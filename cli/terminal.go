package cli

import (
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// The values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

func colorModes() []string { return []string{colorAuto, colorAlways, colorNever} }

func (a *app) checkColor() error {
	if slices.Contains(colorModes(), a.flags.color) {
		return nil
	}
	return usage("--color %q: it is one of %s", a.flags.color, strings.Join(colorModes(), ", "))
}

// color decides for one output. The flag goes first; then no-color.org and
// force-color.org, in that order, since whoever asks for none may not be able to
// read any; then what the output is.
func (a *app) color(w io.Writer) bool {
	switch {
	case a.flags.color == colorAlways:
		return true
	case a.flags.color == colorNever, a.env["NO_COLOR"] != "":
		return false
	case a.env["FORCE_COLOR"] != "" && a.env["FORCE_COLOR"] != "0":
		return true
	}
	return a.lively(w)
}

// lively reports whether somebody looks at w: a terminal that understands
// escapes, and no CI, which may give its jobs one.
func (a *app) lively(w io.Writer) bool {
	ci := a.env["CI"]
	if a.env["TERM"] == "dumb" || ci != "" && ci != "false" && ci != "0" {
		return false
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the columns of the terminal that w is; 0 for anything else: a file
// has no edge.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
