package idempotencyhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/idemrace/idemrace/idempotency"
)

// execution is the handler as a coordinator's action.
type execution struct {
	m      Middleware
	r      *http.Request
	next   http.Handler
	body   []byte
	header http.Header // what middleware before this one has set

	mu  sync.Mutex
	rec *recording // of the latest run that has ended
}

// last is how the handler has answered, nil if it has not been called.
func (e *execution) last() *recording {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rec
}

// action runs the handler and says what came of it. It touches nothing that is the
// server's: a coordinator that does not wait for its action gets no more than it
// deserves.
func (e *execution) action(ctx context.Context) ([]byte, error) {
	rec, s := &recording{header: e.header.Clone()}, &said{}
	if rec.header == nil {
		rec.header = http.Header{}
	}
	e.run(context.WithValue(ctx, saidKey{}, s), rec)
	silent := rec.status == 0 && s.silent()
	rec.finish()
	switch {
	case rec.panicked:
		rec.err = fmt.Errorf("%w: the handler panicked", idempotency.ErrUnknownOutcome)
	case silent && ctx.Err() != nil:
		// It has given up without a word. That the server would make a 200 of.
		rec.silence()
		rec.err = fmt.Errorf("%w: %w, and the handler has not answered", idempotency.ErrUnknownOutcome, context.Cause(ctx))
	default:
		rec.err = s.verdict(rec.status, e.m.Classify)
	}
	rec.result = encode(rec, e.m.Headers, e.m.MaxResult)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rec = rec
	if rec.err != nil {
		return nil, rec.err
	}
	return rec.result, nil
}

// run calls the handler with a request that has its body still before it.
func (e *execution) run(ctx context.Context, rec *recording) {
	r := e.r.WithContext(ctx)
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(e.body)), int64(len(e.body)), nil
	defer func() {
		if form := r.MultipartForm; form != nil && e.r.MultipartForm == nil {
			_ = form.RemoveAll() // the server only knows of its own request's files
		}
	}()
	defer func() {
		// The panic itself goes on later, without the stack that it has here.
		if p := recover(); p != nil {
			rec.panicked, rec.panic = true, p
			if p != http.ErrAbortHandler {
				e.m.Logger.ErrorContext(ctx, "idempotency: the handler panicked", "operation", e.m.Operation(e.r), "panic", p, "stack", string(debug.Stack()))
			}
		}
	}()
	e.next.ServeHTTP(rec, r)
}

// silence puts a problem in the place of an answer that was not given.
func (c *recording) silence() {
	p := problemOf(idempotency.ErrUnknownOutcome)
	c.status, c.sent = p.Status, c.header.Clone()
	p.describe(c.sent)
	c.body.Reset()
	c.body.Write(p.body())
}
