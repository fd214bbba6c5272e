package runner

import (
	"context"
	"errors"
	"time"

	"github.com/idemrace/idemrace/history"
)

// calm is how it is told of a target whose waiting nobody sees that everybody is
// where it will be: nothing has happened in the history for quiet, and still says
// that nothing else moves. Who polls is never still, and who asks nobody sends
// nothing: after restless only the history counts.
type calm struct {
	quiet time.Duration // 0: everything is seen
	still func(events []history.Event, sent int) bool
}

const (
	quiet    = 200 * time.Millisecond
	restless = 2 * time.Second
)

var errQuiet = errors.New("nothing happens")

// awaitUnseen awaits cond, and whenever it is quiet, asks as well whether cond
// would be met if every attempt under way were waiting.
func (sc *script) awaitUnseen(ctx context.Context, cond func([]history.Event) bool) error {
	events, since := sc.rec.History().Events, time.Now()
	for {
		seen, sent, met := len(events), sc.sentCommands(), false
		calm, cancel := context.WithTimeoutCause(ctx, sc.calm.quiet, errQuiet)
		err := sc.rec.Await(calm, func(events []history.Event) bool {
			met = cond(events)
			return met || len(events) > seen
		})
		cancel()
		events = sc.rec.History().Events
		switch {
		case met:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			since = time.Now() // something happened
		case !errors.Is(err, errQuiet):
			return err
		case sc.calm.still(events, sent) || time.Since(since) > restless:
			if cond(supposed(events)) {
				return nil
			}
		}
	}
}

// silentWire: the wire has been silent since so many commands had been sent, and every
// attempt under way can have sent one: to dial takes time, too.
func (sc *script) silentWire(events []history.Event, sent int) bool {
	now := sc.sentCommands()
	return now == sent && now >= len(underWay(events))
}

func (sc *script) sentCommands() int {
	if sc.proxy == nil {
		return 0
	}
	return sc.proxy.Commands()
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
