package faultproxy

import (
	"context"
	"errors"
	"sync"
)

// ErrHold is returned by Await when the hold has ended before enough was held.
var ErrHold = errors.New("faultproxy: the hold has ended")

// Hold stops a matching command's connection before the command passes: nothing
// passes there any more, in either direction, until the fault ends. Then the
// command reaches the store, even if its client has given up and gone meanwhile;
// unless the proxy went down or was closed. A Hold is for one use.
//
// In the world: a partition of the network that heals, or a paused virtual machine
// in between; TCP sends again what was lost, and an old command arrives late.
type Hold struct {
	Match Match // nil: every data command
	firing

	mu      sync.Mutex
	held    map[int]bool  // links
	changed chan struct{} // closed when held or ended changes
	over    chan struct{} // closed when the fault ends
	ended   bool
}

// Pass implements Fault.
func (f *Hold) Pass(ctx context.Context, c Chunk) ([]byte, error) {
	over, holds := f.stop(c)
	if !holds {
		return c.Bytes, nil
	}
	select {
	case <-over:
		return c.Bytes, nil
	case <-ctx.Done():
		f.forget(c.Link)
		return nil, context.Cause(ctx)
	}
}

// stop holds the chunk's link if there is a reason to, and says until when.
func (f *Hold) stop(c Chunk) (over <-chan struct{}, holds bool) {
	matches := f.matches(c)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin()
	if f.ended || !matches && !f.held[c.Link] {
		return nil, false
	}
	if matches {
		f.fire(0)
		f.held[c.Link] = true
		f.change()
	}
	return f.over, true
}

func (f *Hold) matches(c Chunk) bool {
	for _, cmd := range c.Commands {
		if about(f.Match, cmd) {
			return true
		}
	}
	return false
}

// Held is how many connections are held now.
func (f *Hold) Held() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.held)
}

// Await returns when at least n connections are held at once; with ctx's cause, or
// with ErrHold if the fault ends first.
func (f *Hold) Await(ctx context.Context, n int) error {
	for {
		f.mu.Lock()
		f.begin()
		held, ended, changed := len(f.held), f.ended, f.changed
		f.mu.Unlock()
		switch {
		case held >= n:
			return nil
		case ended:
			return ErrHold
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// End implements Ender: whatever is held passes, and nothing will be held again.
func (f *Hold) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin()
	if f.ended {
		return
	}
	f.ended = true
	clear(f.held)
	close(f.over)
	f.change()
}

func (f *Hold) forget(link int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.held, link)
	f.change()
}

// begin makes the zero value ready, under the lock.
func (f *Hold) begin() {
	if f.held == nil {
		f.held, f.over, f.changed = map[int]bool{}, make(chan struct{}), make(chan struct{})
	}
}

// change wakes whoever awaits, under the lock.
func (f *Hold) change() {
	close(f.changed)
	f.changed = make(chan struct{})
}
