package httptarget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/target"
)

// Exchange is a request and its answer as bytes, for evidence. Values of headers
// that look like credentials are taken out.
type Exchange struct {
	Request string
	Status  int
	Header  http.Header
	Body    string
}

// bodyMax is how much of an answer is read; the rest of one that does not end is
// not waited for.
const bodyMax = 1 << 20

// Send sends one attempt; see target.Target.
func (c *Cell) Send(ctx context.Context, a target.Attempt) target.Response {
	r, err := c.request(ctx, a, nil)
	if err != nil {
		return target.Response{Answer: history.Error, Detail: err.Error()}
	}
	return c.do(ctx, a, r)
}

// ready is a request that can leave.
type ready struct {
	req    *http.Request
	cancel context.CancelFunc
	key    string // on the wire
}

var errPatience = errors.New("the client's patience was over")

// request makes an attempt's request. Its body is opaque to the transport, which
// would otherwise send a request with an Idempotency-Key again by itself when a
// connection breaks.
func (c *Cell) request(ctx context.Context, a target.Attempt, gate *gate) (ready, error) {
	text, err := c.renderAttempt(a)
	if err != nil {
		return ready{}, err
	}
	base, err := c.t.cfg.Base(a.Worker)
	if err != nil {
		return ready{}, err
	}
	for name, values := range c.t.cfg.Header {
		text.header[name] = values
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.t.cfg.Request.Timeout, errPatience)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err == nil && c.wrote != nil {
			c.wrote(a.Number)
		}
	}})
	req, err := http.NewRequestWithContext(ctx, text.method, strings.TrimSuffix(base, "/")+text.path, newBody(ctx, text.body, gate))
	if err != nil {
		cancel()
		return ready{}, err
	}
	req.Header, req.ContentLength, req.GetBody = text.header, int64(len(text.body)), nil
	if host := text.header.Get("Host"); host != "" {
		req.Host = host
	}
	c.keep(a.Number, Exchange{Request: hidden(text).text()})
	c.sends(a)
	return ready{req, cancel, text.header.Get(c.t.cfg.Request.KeyHeader)}, nil
}

// do sends and reads the answer.
func (c *Cell) do(ctx context.Context, a target.Attempt, r ready) target.Response {
	c.t.begun()
	defer c.t.ended()
	defer r.cancel()
	resp, err := c.t.client.Do(r.req)
	if err != nil {
		return unanswered(ctx, r.req, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyMax+1))
	x := Exchange{Status: resp.StatusCode, Header: resp.Header, Body: string(body)}
	c.answered(a.Number, x)
	switch {
	case len(body) > bodyMax:
		return target.Response{Answer: history.UnknownOutcome, Status: resp.StatusCode, Detail: fmt.Sprintf("the answer (%d) does not end: more than %d bytes came", resp.StatusCode, bodyMax)}
	case err != nil:
		out := unanswered(ctx, r.req, err)
		out.Status, out.Detail = resp.StatusCode, fmt.Sprintf("the answer (%d) broke off: %s", resp.StatusCode, out.Detail)
		return out
	}
	return c.read(a, r, x)
}

// unanswered says why there is no answer.
func unanswered(ctx context.Context, req *http.Request, err error) target.Response {
	var op *net.OpError
	switch {
	case ctx.Err() != nil:
		return target.Response{Answer: history.HungUp, Detail: context.Cause(ctx).Error()}
	case errors.Is(context.Cause(req.Context()), errPatience):
		return target.Response{Answer: history.UnknownOutcome, Detail: "no answer in time (request.timeout)"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return target.Response{Answer: history.Error, Detail: "nobody listens at " + req.URL.Host}
	case errors.As(err, &op) && op.Op == "dial":
		return target.Response{Answer: history.Error, Detail: "cannot connect to " + req.URL.Host + ": " + op.Err.Error()}
	}
	var inner interface{ Unwrap() error }
	if errors.As(err, &inner) && inner.Unwrap() != nil {
		err = inner.Unwrap()
	}
	return target.Response{Answer: history.UnknownOutcome, Detail: "no answer: the connection broke: " + err.Error()}
}

func (c *Cell) keep(attempt int, x Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exchanges[attempt] = x
}

func (c *Cell) answered(attempt int, x Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x.Request = c.exchanges[attempt].Request
	c.exchanges[attempt] = x
}

// Exchange is what was sent for an attempt and what came back; ok is false if
// nothing was sent.
func (c *Cell) Exchange(attempt int) (x Exchange, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok = c.exchanges[attempt]
	return x, ok
}

// Render is the request that an attempt becomes, as text, for --dry-run.
func (c *Cell) Render(a target.Attempt) (string, error) {
	r, err := c.renderAttempt(a)
	if err != nil {
		return "", err
	}
	for name, values := range c.t.cfg.Header {
		r.header[name] = values
	}
	return hidden(r).text(), nil
}

// hidden takes credentials out of what is shown.
func hidden(r rendered) rendered {
	shown := r.header.Clone()
	for name := range shown {
		if secret(name) {
			shown[name] = []string{"…"}
		}
	}
	r.header = shown
	return r
}

// secret names of headers; what a service calls its own is told by these words.
func secret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"authorization", "cookie", "api-key", "apikey", "token", "secret", "signature", "password", "credential"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
