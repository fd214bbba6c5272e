package worker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	pollEvery = 20 * time.Millisecond
	// tryFor is how long one question may take: a first request may be lost in a
	// service that listens before it serves.
	tryFor = 2 * time.Second
)

// probe asks a worker whether it is ready.
type probe struct {
	client *http.Client
	path   string // "": it accepts connections
	within time.Duration
	hint   string // to the one who finds nobody listening
}

// newProbe asks without checking certificates, unless trust does: nothing that is
// sent or answered matters.
func newProbe(s Spec, trust *tls.Config, hint string) probe {
	if trust == nil {
		trust = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	}
	return probe{path: s.path(), within: s.readyWithin(), hint: hint, client: &http.Client{
		Transport:     &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errDied is ErrEnded before anybody knows how; no context can end with it.
var errDied = errors.New("it has ended")

// await returns nil when the worker is ready, errDied when it has ended, ErrNotReady
// with what was seen, or why ctx has ended.
func (p probe) await(ctx context.Context, base string, ended <-chan struct{}) error {
	late := time.NewTimer(p.within)
	defer late.Stop()
	again := time.NewTicker(pollEvery)
	defer again.Stop()
	for {
		seen := p.try(ctx, base)
		select {
		case <-ended:
			return errDied
		default:
		}
		if seen == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ended:
			return errDied
		case <-late.C:
			return fmt.Errorf("%w after %v: %s", ErrNotReady, p.within, seen)
		case <-again.C:
		}
	}
}

// try says what speaks against a worker's being ready, "" if nothing does.
func (p probe) try(ctx context.Context, base string) (seen string) {
	ctx, cancel := context.WithTimeout(ctx, min(tryFor, p.within))
	defer cancel()
	if p.path == "" {
		return p.dial(ctx, base)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+p.path, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := p.client.Do(req)
	switch {
	case refused(err):
		return p.nobody(base)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("GET %s was not answered within %v", p.path, min(tryFor, p.within))
	case err != nil:
		return fmt.Sprintf("GET %s: %v", p.path, withoutURL(err))
	}
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Sprintf("GET %s answered %d", p.path, resp.StatusCode)
	}
	return ""
}

func (p probe) dial(ctx context.Context, base string) (seen string) {
	switch err := dial(ctx, hostPort(base)); {
	case refused(err):
		return p.nobody(base)
	case err != nil:
		return err.Error()
	}
	return ""
}

// nobody also looks where a service listens that was told "localhost".
func (p probe) nobody(base string) string {
	ctx, cancel := context.WithTimeout(context.Background(), tryFor)
	defer cancel()
	host, port, _ := net.SplitHostPort(hostPort(base))
	if six := net.JoinHostPort("::1", port); host == "127.0.0.1" && dial(ctx, six) == nil {
		return fmt.Sprintf("nothing listens on %s, but something does on %s (let the service listen on 127.0.0.1)", hostPort(base), six)
	}
	return fmt.Sprintf("nothing listens on %s%s", hostPort(base), p.hint)
}

// errSelf: Linux can connect a socket to itself where nobody listens.
var errSelf = errors.New("connected to itself")

// dial connects and hangs up.
func dial(ctx context.Context, addr string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if conn.LocalAddr().String() == conn.RemoteAddr().String() {
		return errSelf
	}
	return nil
}

// listening says whether somebody accepts connections at a base URL. Only a refusal
// says no: a slow answer proves nothing.
func listening(base string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), tryFor)
	defer cancel()
	return !refused(dial(ctx, hostPort(base)))
}

// hostPort is the address that a base URL is served at.
func hostPort(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
