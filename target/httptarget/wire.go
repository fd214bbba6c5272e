package httptarget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/target"
)

// wire is HTTP/1.1 without TLS, one exchange after the other on connections that are
// kept. net/http's transport gives each connection two goroutines, so that each
// request changes hands four times: at full speed that is most of what a client costs.
// Here whoever sends also reads. Safe for concurrent use.
type wire struct {
	asked *http.Request // all that an answer's form depends on: the method

	mu    *sync.RWMutex
	pools map[string]*pool // by address
}

// answer as it came. The body is valid until its buffer is used again.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// buffer of one exchange.
type buffer struct{ out, in []byte }

var buffers = sync.Pool{New: func() any { return &buffer{} }}

func newPlainWire(method string) wire {
	return wire{asked: &http.Request{Method: method}, mu: &sync.RWMutex{}, pools: map[string]*pool{}}
}

// to is the pool of an address.
func (w wire) to(addr string) *pool {
	w.mu.RLock()
	p := w.pools[addr]
	w.mu.RUnlock()
	if p != nil {
		return p
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pools[addr] == nil {
		w.pools[addr] = &pool{addr: addr, dialer: net.Dialer{Timeout: dialWithin}}
	}
	return w.pools[addr]
}

// close closes what rests. What is in use is closed by whoever uses it.
func (w wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pools {
		p.close()
	}
}

// dialError: nothing has left.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// exchange sends b.out and reads the answer. A request is sent once: on a connection
// that breaks under it, nobody knows what the server has done.
func (w wire) exchange(ctx context.Context, addr string, b *buffer, until time.Time) (a answer, err error) {
	p := w.to(addr)
	c, err := p.take(ctx, until)
	if err != nil {
		return a, &dialError{err}
	}
	_ = c.SetDeadline(until)
	stay := func() bool { return true }
	if ctx.Done() != nil {
		stay = context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	}
	a, keep, err := w.speak(c, b)
	if !stay() || err != nil || !keep {
		_ = c.Close()
		return a, err
	}
	p.give(c)
	return a, nil
}

// speak is the exchange itself; keep is whether the connection can carry another.
func (w wire) speak(c *conn, b *buffer) (a answer, keep bool, err error) {
	if _, err = c.Write(b.out); err != nil {
		return a, false, err
	}
	var resp *http.Response
	for { // informational answers come before the answer
		if resp, err = http.ReadResponse(c.in, w.asked); err != nil {
			return a, false, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			break
		}
	}
	b.in, err = readBody(resp.Body, resp.ContentLength, b.in[:0])
	return answer{resp.StatusCode, resp.Header, b.in}, !resp.Close && c.in.Buffered() == 0, err
}

// errEndless is an answer that is larger than any honest one.
var errEndless = fmt.Errorf("the answer does not end: more than %d bytes came", bodyMax)

// readBody appends a body to into; n is its length if that is known, else -1.
func readBody(r io.Reader, n int64, into []byte) ([]byte, error) {
	switch {
	case n > bodyMax:
		return into, errEndless
	case n < 0:
		rest, err := io.ReadAll(io.LimitReader(r, bodyMax+1))
		if err == nil && len(rest) > bodyMax {
			err = errEndless
		}
		return append(into, rest...), err
	}
	if int64(cap(into)) < n {
		into = make([]byte, n)
	}
	into = into[:n]
	_, err := io.ReadFull(r, into)
	return into, err
}

// lost says why there is no answer, in the words of unanswered.
func lost(ctx context.Context, addr string, err error) target.Response {
	var dial *dialError
	switch {
	case ctx.Err() != nil:
		return target.Response{Answer: history.HungUp, Detail: context.Cause(ctx).Error()}
	case errors.As(err, &dial) && errors.Is(err, syscall.ECONNREFUSED):
		return target.Response{Answer: history.Error, Detail: "nobody listens at " + addr}
	case errors.As(err, &dial):
		return target.Response{Answer: history.Error, Detail: "cannot connect to " + addr + ": " + err.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return target.Response{Answer: history.UnknownOutcome, Detail: "no answer in time (request.timeout)"}
	}
	return target.Response{Answer: history.UnknownOutcome, Detail: "no answer: the connection broke: " + err.Error()}
}
