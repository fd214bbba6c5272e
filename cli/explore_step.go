package cli

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/idemrace/idemrace/explore"
	"github.com/idemrace/idemrace/impl"
)

// stepThrough lets the person choose who moves next. It reads numbers, b (back a
// step) and q, one a line, so that it works in a pipe too.
func (a *app) stepThrough(ctx context.Context, cfg explore.Config, entries []impl.Entry) error {
	if len(entries) != 1 {
		return usage("--step is for one coordinator, not %d; write e.g. --impl cache", len(entries))
	}
	cfg.Entry = entries[0]
	if err := admit(ctx, cfg); err != nil {
		return err
	}
	w, err := explore.NewWalk(cfg)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(a.stdin)
	for ctx.Err() == nil {
		if err := a.showWalk(w); err != nil {
			return err
		}
		if !lines.Scan() {
			return lines.Err()
		}
		quit, err := a.move(w, strings.TrimSpace(lines.Text()))
		if quit || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// showWalk draws what has happened and what can.
func (a *app) showWalk(w *explore.Walk) error {
	var b strings.Builder
	now := w.Now()
	fmt.Fprintf(&b, "\n%s\n", now.Story().Lanes(a.page()))
	for i, s := range w.Possible() {
		fmt.Fprintf(&b, "  %2d  %s\n", i+1, s)
	}
	if len(w.Possible()) > 0 {
		b.WriteString("who moves? a number, b: back, q: end\n")
		return a.print([]byte(b.String()))
	}
	fmt.Fprintf(&b, "over: %s\n", now.Outcome)
	for _, v := range now.Violated {
		fmt.Fprintf(&b, "%s: %s\n", v.Invariant, v.Because)
	}
	if len(now.Violated) == 0 {
		b.WriteString("nothing is violated\n")
	}
	fmt.Fprintf(&b, "replay: %s replay %s\nb: back, q: end\n", a.name, explore.Encode(now.Schedule))
	return a.print([]byte(b.String()))
}

// move does what was typed.
func (a *app) move(w *explore.Walk, typed string) (quit bool, err error) {
	possible := w.Possible()
	n, notNumber := strconv.Atoi(typed)
	switch {
	case typed == "q":
		return true, nil
	case typed == "b":
		ok, err := w.Back()
		if err == nil && !ok {
			err = a.print([]byte("there is nothing to go back to\n"))
		}
		return false, err
	case typed == "" && len(possible) > 0:
		return false, w.Take(possible[0])
	case notNumber != nil || n < 1 || n > len(possible):
		return false, a.print([]byte(fmt.Sprintf("%q is none of them: a number from 1 to %d, b or q\n", typed, len(possible))))
	}
	return false, w.Take(possible[n-1])
}
