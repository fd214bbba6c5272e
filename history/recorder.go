package history

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/idemrace/idemrace/clock"
)

// ErrClosed is returned by Await once nothing more can be recorded.
var ErrClosed = errors.New("history: the recorder is closed")

// Recorder takes down events. Number and time are given under one lock, so the
// order in the history is the order of the numbers and never runs back in time.
// It is safe for concurrent use.
type Recorder struct {
	clk    clock.Clock
	start  time.Time
	header Header

	mu     sync.Mutex
	events []Event // only ever appended to: a prefix, once handed out, never changes
	calls  int     // store calls begun
	closed bool
	more   chan struct{} // closed at the next event; nil while nobody waits
	claims claims
}

// NewRecorder starts a history at clk's present moment. An empty h.Schema
// becomes Schema.
func NewRecorder(h Header, clk clock.Clock) *Recorder {
	if h.Schema == "" {
		h.Schema = Schema
	}
	return &Recorder{clk: clk, start: clk.Now(), header: h, claims: claims{ran: map[int]bool{}, held: map[string]string{}}}
}

// Record adds e and returns it with its Seq and At. After Close it does nothing
// and returns e as given: a goroutine that outlives its cell must not write into
// a history that has been judged.
//
// Bytes that are not valid UTF-8 (odd keys are part of what is tested) are
// spelt out as \xff, for JSON would make them all the same replacement sign.
func (r *Recorder) Record(e Event) Event {
	e = spelled(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return e
	}
	e.Seq = len(r.events) + 1
	e.At = r.clk.Now().Sub(r.start)
	r.events = append(r.events, e)
	if e.Kind == Run {
		r.claims.ran[e.Attempt] = true
	}
	r.wake()
	return e
}

// Close ends the history; it may be called again.
func (r *Recorder) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wake()
}

// History returns a copy of what was recorded so far.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.header
	h.Controls = slices.Clone(h.Controls)
	return &History{Header: h, Events: slices.Clone(r.events)}
}

// Await returns nil as soon as cond holds. cond is asked about the events so
// far, and again after each further event, in the caller's goroutine and with no
// lock held: it may be slow without disturbing anybody, and it misses no moment.
// It must not change the events. Errors: the context's cause, or ErrClosed.
func (r *Recorder) Await(ctx context.Context, cond func(events []Event) bool) error {
	events, more, open := r.watch()
	if cond(events) {
		return nil
	}
	for seen := len(events); ; {
		if !open {
			return ErrClosed
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-more:
		}
		events, more, open = r.watch()
		for seen < len(events) {
			seen++
			if cond(events[:seen:seen]) {
				return nil
			}
		}
	}
}

// watch returns the events so far without copying them, a channel that is closed
// at the next change, and whether there can be one.
func (r *Recorder) watch() (events []Event, more <-chan struct{}, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.more == nil {
		r.more = make(chan struct{})
	}
	return slices.Clip(r.events), r.more, !r.closed
}

// wake tells those who watch. The lock is held.
func (r *Recorder) wake() {
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// call numbers a store call.
func (r *Recorder) call() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	return r.calls
}

// spelled makes every field that a client can fill valid UTF-8.
func spelled(e Event) Event {
	for _, s := range texts(&e) {
		if !utf8.ValidString(*s) {
			*s = spell(*s)
		}
	}
	return e
}

func texts(e *Event) []*string {
	return []*string{
		&e.Client, &e.Worker, &e.Tenant, &e.Operation, &e.Key, &e.Ref, &e.Fingerprint, &e.Answer, &e.Source,
		&e.Charge, &e.Body, &e.Op, &e.Name, &e.Token, &e.State, &e.ProviderKey, &e.Effect, &e.Class, &e.Err,
	}
}

func spell(s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			b.WriteString(`\x` + string(hex[s[0]>>4]) + string(hex[s[0]&15]))
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
