package httptarget

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/target"
)

// Shot is one request of a stream.
type Shot struct {
	Worker string // by its name, as Config.Base knows it
	Key    string // on the wire, before the form that the service demands
	Ref    string // on the wire
	Amount int64  // on the wire, minor units
	Rival  bool   // the key also comes with another payload
}

// Stream sends requests by the million to one service: it keeps no exchange, and what
// its templates say is worked out once. A Cell remembers all that it sends. Safe for
// concurrent use. Its connections end with Close.
type Stream struct {
	t    *Target
	text outline
	wire wire

	mu    sync.RWMutex
	hosts map[string]host // by base URL
}

// host is a base URL, taken apart.
type host struct {
	addr   string // host and port
	name   string // for the Host header
	prefix string // of every path
}

// Stream is the target for load.
func (t *Target) Stream() (*Stream, error) {
	text, err := t.outline()
	if err != nil {
		return nil, err
	}
	return &Stream{t: t, text: text, wire: newPlainWire(t.cfg.Request.Method), hosts: map[string]host{}}, nil
}

// Close ends every connection that rests.
func (s *Stream) Close() { s.wire.close() }

// Send sends one request. The end of ctx is the client's leaving: its connection
// breaks.
func (s *Stream) Send(ctx context.Context, shot Shot) target.Response {
	base, err := s.t.cfg.Base(shot.Worker)
	if err != nil {
		return target.Response{Answer: history.Error, Detail: err.Error()}
	}
	if s.t.cfg.Request.HTTP2 || strings.HasPrefix(base, "https:") {
		return s.byTransport(ctx, base, shot)
	}
	h, err := s.host(base)
	if err != nil {
		return target.Response{Answer: history.Error, Detail: err.Error()}
	}
	b := buffers.Get().(*buffer)
	defer buffers.Put(b)
	var key string
	if b.out, key, err = s.text.bytes(b.out[:0], h, shot); err != nil {
		return target.Response{Answer: history.Error, Detail: err.Error()}
	}
	a, err := s.wire.exchange(ctx, h.addr, b, time.Now().Add(s.t.cfg.Request.Timeout))
	if err != nil {
		return lost(ctx, h.addr, err)
	}
	return s.read(a, key, shot)
}

// host takes a base URL apart, once.
func (s *Stream) host(base string) (host, error) {
	s.mu.RLock()
	h, ok := s.hosts[base]
	s.mu.RUnlock()
	if ok {
		return h, nil
	}
	u, err := url.Parse(base)
	if err != nil {
		return h, err
	}
	h = host{addr: u.Host, name: u.Host, prefix: strings.TrimSuffix(u.EscapedPath(), "/")}
	if u.Port() == "" {
		h.addr += ":80"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[base] = h
	return h, nil
}

// read puts an answer in the words of package history, as Cell.read does for one that
// is kept.
func (s *Stream) read(a answer, key string, shot Shot) target.Response {
	x := Exchange{Status: a.status, Header: a.header}
	p := s.t.cfg.Profile
	out := target.Response{Status: a.status}
	_, retry := x.at(headerPlace + "Retry-After")
	out.Answer = p.word(a.status, situation{rival: shot.Rival, key: key, retry: retry})
	if out.Answer != history.OK {
		x.Body = string(a.body)
		if x.has(p.Unknown) {
			out.Answer = history.UnknownOutcome
		}
		out.Detail = fmt.Sprintf("%d %s", a.status, beginning(x.Body))
		return out
	}
	out.Charge = s.charge(a, &x)
	if p.ReplayMarker != "" {
		if x.Body == "" && !strings.HasPrefix(p.ReplayMarker, headerPlace) {
			x.Body = string(a.body)
		}
		out.Source = p.source(x)
	}
	return out
}

// charge is what a success names, "" if nothing.
func (s *Stream) charge(a answer, x *Exchange) string {
	place := s.t.cfg.Answer.Charge
	if strings.HasPrefix(place, headerPlace) {
		value, _ := x.at(place)
		return value
	}
	if !gjson.ValidBytes(a.body) {
		return ""
	}
	found := gjson.GetBytes(a.body, place)
	if found.Type == gjson.Null {
		return ""
	}
	return found.String()
}

// byTransport sends what the plain wire does not speak: TLS and HTTP/2.
func (s *Stream) byTransport(ctx context.Context, base string, shot Shot) target.Response {
	r, err := s.text.rendered(shot)
	if err != nil {
		return target.Response{Answer: history.Error, Detail: err.Error()}
	}
	timed, cancel := context.WithTimeoutCause(ctx, s.t.cfg.Request.Timeout, errPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(timed, r.method, strings.TrimSuffix(base, "/")+r.path, newBody(timed, r.body, nil))
	if err != nil {
		return target.Response{Answer: history.Error, Detail: err.Error()}
	}
	req.Header, req.ContentLength, req.GetBody = r.header, int64(len(r.body)), nil
	if name := r.header.Get("Host"); name != "" {
		req.Host = name
	}
	resp, err := s.t.client.Do(req)
	if err != nil {
		return unanswered(ctx, req, err)
	}
	defer resp.Body.Close()
	body, err := readBody(resp.Body, resp.ContentLength, nil)
	if err != nil {
		return unanswered(ctx, req, err)
	}
	return s.read(answer{resp.StatusCode, resp.Header, body}, r.header.Get(s.t.cfg.Request.KeyHeader), shot)
}
