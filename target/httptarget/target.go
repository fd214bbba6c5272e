package httptarget

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/idemrace/idemrace/target"
)

// Config of a Target.
type Config struct {
	Request Request
	Answer  Answer
	Profile Profile // resolved, see Resolve
	TLS     TLS
	Tenants map[string]Tenant // by the scenarios' names; one that is not there gets nothing besides
	Header  http.Header       // of every request: the run's mark
	// Base is a worker's base URL, by its name in scenarios (w1, w2).
	Base func(worker string) (string, error)
	Run  string            // the run's id
	Vars map[string]string // captured by setup steps
}

// Can is what a service can be sent. A request's template decides it: where
// .Tenant stands nowhere, two tenants are one.
type Can struct {
	Tenants, Operations, Traces, Reorder bool
}

// Target is one service. Its cells share connections. Close it.
type Target struct {
	cfg       Config
	templates templates
	transport *http.Transport
	client    *http.Client

	mu   sync.Mutex
	busy int
	rest chan struct{} // closed when no request is under way; nil while nobody waits
}

// New checks every template and reads the certificates.
func New(cfg Config) (*Target, error) {
	cfg.Request.Method = cmp.Or(cfg.Request.Method, DefaultMethod)
	cfg.Request.KeyHeader = cmp.Or(cfg.Request.KeyHeader, DefaultKeyHeader)
	cfg.Request.Body = cmp.Or(cfg.Request.Body, DefaultBody)
	cfg.Request.Timeout = cmp.Or(cfg.Request.Timeout, DefaultTimeout)
	cfg.Answer.Charge = cmp.Or(cfg.Answer.Charge, DefaultCharge)
	t := &Target{cfg: cfg}
	var err error
	if t.templates, err = parse(cfg.Request, cfg.Tenants); err != nil {
		return nil, err
	}
	if t.transport, err = transport(cfg); err != nil {
		return nil, err
	}
	t.client = &http.Client{Transport: t.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if _, err := t.templates.render(t.example(target.Attempt{})); err != nil {
		return nil, err
	}
	return t, nil
}

// DefaultCharge is where an answer names its charge.
const DefaultCharge = "id"

// transport is the standard library's with nothing that comes by surprise: no proxy
// from the environment, no compression, no second try on a connection that broke.
func transport(cfg Config) (*http.Transport, error) {
	config, err := tlsConfig(cfg.TLS)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64, TLSClientConfig: config, ForceAttemptHTTP2: cfg.Request.HTTP2}
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(!cfg.Request.HTTP2)
	t.Protocols.SetHTTP2(cfg.Request.HTTP2)
	t.Protocols.SetUnencryptedHTTP2(cfg.Request.HTTP2)
	return t, nil
}

// example is what templates are tried with.
func (t *Target) example(a target.Attempt) Data {
	return Data{Run: t.cfg.Run, Key: "k", Ref: "r", Amount: 100, Operation: a.Operation, Tenant: a.Tenant, Trace: a.Trace, Client: "A", Vars: t.cfg.Vars}
}

// Can says what the request's template makes possible, by trying it.
func (t *Target) Can() Can {
	text := func(a target.Attempt) string {
		r, err := t.templates.render(t.example(a))
		if err != nil {
			return ""
		}
		return r.text()
	}
	plain := text(target.Attempt{})
	return Can{
		Tenants:    text(target.Attempt{Tenant: "acme"}) != text(target.Attempt{Tenant: "globex"}),
		Operations: text(target.Attempt{Operation: "a"}) != text(target.Attempt{Operation: "b"}),
		Traces:     text(target.Attempt{Trace: "t"}) != plain,
		Reorder:    reordered(mustRender(t)) != "",
	}
}

func mustRender(t *Target) string {
	r, err := t.templates.render(t.example(target.Attempt{}))
	if err != nil {
		return ""
	}
	return r.body
}

// In is the target as one cell sees it. Vars go before the configuration's.
func (t *Target) In(n *Names, vars map[string]string) *Cell {
	return &Cell{t: t, names: n, vars: vars, refVars: map[string]map[string]string{}, exchanges: map[int]Exchange{}, payloads: map[string]map[string]bool{}}
}

// Idle blocks until no request is under way.
func (t *Target) Idle(ctx context.Context) error {
	for {
		t.mu.Lock()
		if t.busy == 0 {
			t.mu.Unlock()
			return nil
		}
		if t.rest == nil {
			t.rest = make(chan struct{})
		}
		rest := t.rest
		t.mu.Unlock()
		select {
		case <-rest:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (t *Target) begun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy++
}

func (t *Target) ended() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
	if t.busy == 0 && t.rest != nil {
		close(t.rest)
		t.rest = nil
	}
}

// Close ends every connection that rests.
func (t *Target) Close() { t.transport.CloseIdleConnections() }

// Cell is the target as one cell sees it: Names keeps the cells apart on the wire.
type Cell struct {
	t     *Target
	names *Names
	vars  map[string]string

	mu        sync.Mutex
	refVars   map[string]map[string]string // by ref
	exchanges map[int]Exchange             // by attempt
	payloads  map[string]map[string]bool   // by tenant, operation and key: what was sent under it
	wrote     func(attempt int)
}

var _ target.Target = (*Cell)(nil)

// Watch has wrote called with an attempt's number when its request has left
// completely.
func (c *Cell) Watch(wrote func(attempt int)) { c.wrote = wrote }

// SetVars gives a logical operation its own variables, captured for it.
func (c *Cell) SetVars(ref string, vars map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refVars[ref] = vars
}

// under is a key with all that scopes it.
func under(a target.Attempt) string { return fmt.Sprintf("%q %q %q", a.Tenant, a.Operation, a.Key) }

// sends remembers what is sent under a key.
func (c *Cell) sends(a target.Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := under(a)
	if c.payloads[id] == nil {
		c.payloads[id] = map[string]bool{}
	}
	c.payloads[id][fmt.Sprint(a.Ref, a.Amount)] = true
}

// rivals reports whether the key has come with several payloads: which of them is
// the first is for the service to say.
func (c *Cell) rivals(a target.Attempt) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.payloads[under(a)]) > 1
}
