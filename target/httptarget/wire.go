package httptarget

import (
	"bufio"
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
	asked  *http.Request // all that an answer's form depends on: the method
	dialer net.Dialer

	mu   *sync.Mutex
	free map[string][]*conn // by address, the last used last
}

// conn is a connection that nobody else uses meanwhile.
type conn struct {
	net.Conn
	in     *bufio.Reader
	rested time.Time
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

// maxRest is how many connections to one address rest; beyond it they are closed.
const maxRest = 4096

// dialWithin: loopback and data centres answer far sooner.
const dialWithin = 10 * time.Second

func newPlainWire(method string) wire {
	return wire{asked: &http.Request{Method: method}, dialer: net.Dialer{Timeout: dialWithin}, mu: &sync.Mutex{}, free: map[string][]*conn{}}
}

// dialError: nothing has left.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// exchange sends b.out and reads the answer. A request is sent once: on a connection
// that breaks under it, nobody knows what the server has done.
func (w wire) exchange(ctx context.Context, addr string, b *buffer, until time.Time) (a answer, err error) {
	c, err := w.take(ctx, addr)
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
	w.give(addr, c)
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

// restless: a connection that was used so lately is not asked whether its other end
// is still there.
const restless = time.Millisecond

// take is a connection that rests, or a new one.
func (w wire) take(ctx context.Context, addr string) (*conn, error) {
	for {
		c := w.resting(addr)
		if c == nil {
			break
		}
		if time.Since(c.rested) < restless || alive(c.Conn) {
			return c, nil
		}
		_ = c.Close()
	}
	nc, err := w.dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: nc, in: bufio.NewReader(nc)}, nil
}

func (w wire) resting(addr string) *conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.free[addr]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	w.free[addr] = list[:len(list)-1]
	return c
}

// give lets a connection rest.
func (w wire) give(addr string, c *conn) {
	c.rested = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.free[addr]) >= maxRest {
		_ = c.Close()
		return
	}
	w.free[addr] = append(w.free[addr], c)
}

func (w wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for addr, list := range w.free {
		for _, c := range list {
			_ = c.Close()
		}
		delete(w.free, addr)
	}
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
