// Package faultproxy is a TCP proxy that stands in front of a store and can take
// it away: refuse connections, cut them, and whatever a [Fault] does to the
// bytes. It also counts the commands that clients send, for the command budget.
//
// To a client it is the store's address; several proxies before one store let
// one cell lose its store while the others keep theirs. It refuses to know what
// commands mean, and to change a byte unless a fault does: what it cannot read
// (TLS, garbage) passes uncounted.
package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// ErrClosed is returned by Up once the proxy is closed.
var ErrClosed = errors.New("faultproxy: closed")

const (
	// rebindFor is how long Up tries to get its port back. Where it cannot be
	// reserved, somebody's outgoing connection may have been given it meanwhile.
	rebindFor = 2 * time.Second
	// retryEvery is the pause between two tries.
	retryEvery = 5 * time.Millisecond
)

// Proxy is one address in front of one upstream. All methods are safe for
// concurrent use.
type Proxy struct {
	upstream string
	addr     string
	release  func() // of the reserved port
	count    counter
	faults   faults

	running context.Context // ends on Close
	stop    context.CancelFunc
	work    sync.WaitGroup // links

	falls sync.WaitGroup // faults that take the proxy down

	turn      sync.Mutex // held by Up, Down and Close, each as a whole
	closed    bool
	listener  net.Listener   // nil while down
	accepting sync.WaitGroup // the listener's loop

	wanted string // see At

	mu     sync.Mutex
	links  map[*link]struct{}
	linked int // links so far
}

// Option of a proxy.
type Option func(*Proxy)

// WithFault makes a fault act from the first connection on. See Disturb.
func WithFault(f Fault) Option {
	return func(p *Proxy) { p.faults.add(f) }
}

// Listen starts a proxy on a free loopback port, in front of upstream
// ("host:port"), which need not be there yet. Close it.
func Listen(upstream string, opts ...Option) (*Proxy, error) {
	if _, _, err := net.SplitHostPort(upstream); err != nil {
		return nil, fmt.Errorf("faultproxy: upstream: %w", err)
	}
	p := &Proxy{upstream: upstream, links: map[*link]struct{}{}, count: counter{byName: map[string]int{}}}
	for _, o := range opts {
		o(p)
	}
	addr, release, err := p.wanted, func() {}, error(nil)
	if addr == "" {
		addr, release, err = reserve()
	}
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		release()
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	p.addr, p.release = ln.Addr().String(), release
	p.running, p.stop = context.WithCancel(context.Background())
	p.accept(ln)
	return p, nil
}

// Addr is where clients connect, "127.0.0.1:port". It stays the same.
func (p *Proxy) Addr() string { return p.addr }

// Down cuts every connection, and from then on new ones are refused by the
// machine itself: nobody listens. When it returns, both are done. A proxy that is
// down or closed stays as it is.
func (p *Proxy) Down() {
	p.turn.Lock()
	defer p.turn.Unlock()
	p.goDown()
}

// Up listens again on the same address. While it is up, Up changes nothing. An
// error says that the port could not be had again.
func (p *Proxy) Up() error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.closed {
		return ErrClosed
	}
	if p.listener != nil {
		return nil
	}
	ln, err := p.rebind()
	if err != nil {
		return fmt.Errorf("faultproxy: up again: %w", err)
	}
	p.accept(ln)
	return nil
}

// Close cuts everything and returns when nothing of the proxy runs any more.
// Closing twice is harmless. The error is always nil.
func (p *Proxy) Close() error {
	p.stop() // first: an Up that is trying gives up
	p.close()
	p.falls.Wait() // no link is left that could begin one
	return nil
}

func (p *Proxy) close() {
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.goDown()
	p.release()
}

// accept takes connections from ln until goDown closes it.
func (p *Proxy) accept(ln net.Listener) {
	p.listener = ln
	p.accepting.Go(func() {
		for {
			client, err := ln.Accept()
			switch {
			case err == nil:
				p.join(client)
			case errors.Is(err, net.ErrClosed):
				return
			default: // out of file descriptors, say: the next may be better
				pause(p.running)
			}
		}
	})
}

// goDown closes the listener first, so that no connection comes after the last
// was cut, and waits for everything that served them.
func (p *Proxy) goDown() {
	if p.listener == nil {
		return
	}
	p.listener.Close()
	p.listener = nil
	p.accepting.Wait()
	p.mu.Lock()
	for l := range p.links {
		l.cut()
	}
	p.mu.Unlock()
	p.work.Wait()
}

// rebind gets the old port again. Go sets SO_REUSEADDR, so connections that were
// cut do not stand in the way.
func (p *Proxy) rebind() (net.Listener, error) {
	ctx, cancel := context.WithTimeout(p.running, rebindFor)
	defer cancel()
	for {
		ln, err := net.Listen("tcp", p.addr)
		if err == nil || ctx.Err() != nil {
			return ln, err
		}
		pause(ctx)
	}
}

// pause is between two tries of what the machine has just refused.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryEvery):
	}
}

// At has the proxy listen on an address of the caller's choice ("host:port"; port 0
// takes a free one), for clients that cannot be told another.
func At(addr string) Option {
	return func(p *Proxy) { p.wanted = addr }
}
