package faultproxy

import (
	"context"
	"sync"
)

// CutAfter lets N more matching commands pass, counted over all connections. The
// one after them does not pass: it cuts every connection, once. Which commands
// the store gets is so decided by their order and by no clock: a client that
// waits for its replies has had N of them.
//
// In the world: the store's machine dies at some moment of a protocol of several
// commands. Try every N to have tried every moment.
type CutAfter struct {
	N     int
	Match Match // nil: every data command
	// Down leaves the store away: when a client notices the cut, nobody listens any
	// more, until Proxy.Up.
	Down bool
	firing

	mu      sync.Mutex
	passed  int
	sending map[int]bool  // links whose counted commands are on their way
	fall    *fall         // nil until it has fired
	quiet   chan struct{} // made when it fires; closed when nothing is on its way
	waits   bool          // quiet is still to be closed
}

// Pass implements Fault.
func (f *CutAfter) Pass(ctx context.Context, c Chunk) ([]byte, error) {
	cut, fired, at := f.count(c)
	switch {
	case cut == nil:
		return c.Bytes, nil
	case fired: // what was counted is to reach the store before the cut
		wait(ctx, f.quiet)
		return c.Bytes[:at], cut
	}
	// The cut may still be on its way to this connection. It is no business of one
	// that was made after it.
	wait(ctx, cut.done)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return c.Bytes, nil
}

func wait(ctx context.Context, event <-chan struct{}) {
	select {
	case <-event:
	case <-ctx.Done():
	}
}

// Sent implements Sender.
func (f *CutAfter) Sent(c Chunk) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Direction == ToStore {
		f.arrived(c.Link)
	}
}

// count counts a chunk's commands. It returns the fall that the chunk must wait
// for, if there is one, and whether and where the chunk itself has caused it.
func (f *CutAfter) count(c Chunk) (cut *fall, fired bool, at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fall != nil && len(c.Commands) > 0 {
		return f.fall, false, 0
	}
	for i, cmd := range c.Commands {
		switch {
		case !about(f.Match, cmd):
		case f.passed == f.N:
			f.begin(c.Link)
			return f.fall, true, beginning(c.Commands, i)
		default:
			f.passed++
			f.send(c.Link)
		}
	}
	return nil, false, 0
}

func (f *CutAfter) send(link int) {
	if f.sending == nil {
		f.sending = map[int]bool{}
	}
	f.sending[link] = true
}

// begin fires, under the lock. The link that causes it sends before it falls.
func (f *CutAfter) begin(link int) {
	f.fire(1)
	f.fall = &fall{down: f.Down, done: make(chan struct{})}
	f.quiet = make(chan struct{})
	f.waits = true
	f.arrived(link)
}

// arrived says that nothing of a link's is on its way, under the lock.
func (f *CutAfter) arrived(link int) {
	delete(f.sending, link)
	if f.waits && len(f.sending) == 0 {
		f.waits = false
		close(f.quiet)
	}
}
