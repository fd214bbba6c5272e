package runner

import (
	"context"
	"errors"
	"time"

	"github.com/idemrace/idemrace/history"
)

// quiet is for how long nothing must have happened before an attempt, of which
// nobody sees what it asks of its store, is taken to be waiting. A stall of the
// machine makes a race weaker, never a verdict wrong.
const quiet = 50 * time.Millisecond

var errQuiet = errors.New("nothing happens")

// awaitUnseen awaits cond, and whenever it is quiet, asks as well whether cond
// would be met if every attempt under way were waiting.
func (st *stage) awaitUnseen(ctx context.Context, cond func([]history.Event) bool) error {
	for {
		seen, met := len(st.rec.History().Events), false
		calm, cancel := context.WithTimeoutCause(ctx, quiet, errQuiet)
		err := st.rec.Await(calm, func(events []history.Event) bool {
			met = cond(events)
			return met || len(events) > seen
		})
		cancel()
		switch {
		case met:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errQuiet):
			if cond(supposed(st.rec.History().Events)) {
				return nil
			}
		case err != nil:
			return err
		}
	}
}

// supposed adds a wait of every attempt that has no answer yet.
func supposed(events []history.Event) []history.Event {
	open := map[int]bool{}
	for _, e := range events {
		switch e.Kind {
		case history.Send:
			open[e.Attempt] = true
		case history.Answer:
			delete(open, e.Attempt)
		}
	}
	for n := range open {
		events = append(events, history.Event{Kind: history.StoreCall, Op: history.OpAwait, Attempt: n})
	}
	return events
}
