package runner

import (
	"context"
	"errors"
	"time"

	"github.com/idemrace/idemrace/history"
)

// An attempt of which nobody sees what it asks of its store is taken to be waiting
// when nothing has happened for quiet, neither in the history nor on the wire, and
// there have been as many commands as there are attempts under way: to dial takes
// time, too. Who polls is never quiet on the wire, and who asks nobody sends nothing:
// after restless only the history counts.
const (
	quiet    = 200 * time.Millisecond
	restless = 2 * time.Second
)

var errQuiet = errors.New("nothing happens")

// awaitUnseen awaits cond, and whenever it is quiet, asks as well whether cond
// would be met if every attempt under way were waiting.
func (st *stage) awaitUnseen(ctx context.Context, cond func([]history.Event) bool) error {
	events, since := st.rec.History().Events, time.Now()
	for {
		seen, sent, met := len(events), st.sentCommands(), false
		calm, cancel := context.WithTimeoutCause(ctx, quiet, errQuiet)
		err := st.rec.Await(calm, func(events []history.Event) bool {
			met = cond(events)
			return met || len(events) > seen
		})
		cancel()
		events = st.rec.History().Events
		switch {
		case met:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			since = time.Now() // something happened
		case !errors.Is(err, errQuiet):
			return err
		case st.still(events, sent) || time.Since(since) > restless:
			if cond(supposed(events)) {
				return nil
			}
		}
	}
}

// still: the wire has been silent since so many commands had been sent, and every
// attempt under way can have sent one.
func (st *stage) still(events []history.Event, sent int) bool {
	now := st.sentCommands()
	return now == sent && now >= len(underWay(events))
}

func (st *stage) sentCommands() int {
	if st.proxy == nil {
		return 0
	}
	return st.proxy.Commands()
}

// supposed adds a wait of every attempt that has no answer yet.
func supposed(events []history.Event) []history.Event {
	for n := range underWay(events) {
		events = append(events, history.Event{Kind: history.StoreCall, Op: history.OpAwait, Attempt: n})
	}
	return events
}

func underWay(events []history.Event) map[int]bool {
	open := map[int]bool{}
	for _, e := range events {
		switch e.Kind {
		case history.Send:
			open[e.Attempt] = true
		case history.Answer:
			delete(open, e.Attempt)
		}
	}
	return open
}
