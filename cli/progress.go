package cli

import (
	"fmt"
	"io"

	"github.com/idemrace/idemrace/runner"
)

// progress says on stderr how far a run is: a live line where somebody looks, a
// line per cell where it was asked for, else nothing.
type progress struct {
	w             io.Writer
	live, verbose bool
	shown         bool
}

func (a *app) progress() *progress {
	if a.flags.quiet {
		return &progress{}
	}
	live := a.lively(a.stderr)
	return &progress{w: a.stderr, live: live, verbose: a.flags.verbose && !live}
}

// cell is runner.Config.Progress.
func (p *progress) cell(now runner.Progress) {
	switch {
	case p.live:
		p.shown = true
		fmt.Fprintf(p.w, "\r\x1b[K%d of %d  %s in %s", now.Done, now.Of, now.Cell.Target, now.Cell.Scenario)
	case p.verbose:
		word := now.Cell.Verdict
		if word == "" {
			word = now.Cell.Status
		}
		fmt.Fprintf(p.w, "%d of %d  %s in %s: %s\n", now.Done, now.Of, now.Cell.Target, now.Cell.Scenario, word)
	}
}

// doing shows a line that the next one replaces.
func (p *progress) doing(text string) {
	if p.live {
		p.shown = true
		fmt.Fprintf(p.w, "\r\x1b[K%s", text)
	}
}

// say writes a line of its own.
func (p *progress) say(format string, args ...any) {
	p.clear()
	if p.w != nil {
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// clear takes the live line away: the result comes next.
func (p *progress) clear() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
