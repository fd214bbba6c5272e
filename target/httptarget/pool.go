package httptarget

import (
	"bufio"
	"context"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// conn is a connection that nobody else uses meanwhile.
type conn struct {
	net.Conn
	in     *bufio.Reader
	rested time.Time
}

// pool is the connections to one address. Nobody waits for a connection because there
// are too many: whoever finds none makes one. But only few are being made at a time,
// and whoever waits for his turn takes one that comes back meanwhile. Else a stall of
// the server, or of this machine, for a few milliseconds would be answered with a
// thousand connections, the making of which is the next stall.
type pool struct {
	addr   string
	dialer net.Dialer

	mu      sync.Mutex
	closed  bool
	free    []*conn // the last used last
	dialing int
	waiting []chan *conn // the first first; nil is the turn to dial
}

const (
	// maxRest is how many connections to one address rest; beyond it they are closed.
	maxRest = 4096
	// maxDialing connections to one address are being made at a time.
	maxDialing = 4
	// dialWithin: loopback and data centres answer far sooner.
	dialWithin = 10 * time.Second
	// restless: a connection that was used so lately is not asked whether its other end
	// is still there.
	restless = time.Millisecond
)

// take is a connection that rests, or a new one.
func (p *pool) take(ctx context.Context, until time.Time) (*conn, error) {
	for {
		c, turn := p.next()
		if c == nil && turn != nil {
			var err error
			if c, err = p.wait(ctx, turn, until); err != nil {
				return nil, err
			}
		}
		switch {
		case c == nil:
			return p.dial(ctx)
		case time.Since(c.rested) < restless || alive(c.Conn):
			return c, nil
		}
		_ = c.Close()
	}
}

// next is a connection that rests, or none: then it is the caller's turn to dial, or
// he waits.
func (p *pool) next() (*conn, chan *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c, nil
	}
	if p.dialing < maxDialing {
		p.dialing++
		return nil, nil
	}
	turn := make(chan *conn, 1)
	p.waiting = append(p.waiting, turn)
	return nil, turn
}

// wait waits for a connection that comes back, or for the turn to dial.
func (p *pool) wait(ctx context.Context, turn chan *conn, until time.Time) (*conn, error) {
	patience := time.NewTimer(time.Until(until))
	defer patience.Stop()
	var err error
	select {
	case c := <-turn:
		return c, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-patience.C:
		err = os.ErrDeadlineExceeded
	}
	if !p.leave(turn) { // it has just been given something
		if c := <-turn; c != nil {
			p.give(c)
		} else {
			p.dialed()
		}
	}
	return nil, err
}

// leave takes a turn back; false if it was served already.
func (p *pool) leave(turn chan *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiting, turn)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	return i >= 0
}

func (p *pool) dial(ctx context.Context) (*conn, error) {
	defer p.dialed()
	nc, err := p.dialer.DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: nc, in: bufio.NewReader(nc)}, nil
}

// dialed hands on the turn to dial.
func (p *pool) dialed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.dialing--
		return
	}
	p.first() <- nil
}

// first takes the first of those that wait.
func (p *pool) first() chan *conn {
	turn := p.waiting[0]
	p.waiting = slices.Delete(p.waiting, 0, 1)
	return turn
}

// give hands a connection to whoever waits, or lets it rest.
func (p *pool) give(c *conn) {
	c.rested = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(p.waiting) > 0:
		p.first() <- c
	case p.closed || len(p.free) >= maxRest:
		_ = c.Close()
	default:
		p.free = append(p.free, c)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.free {
		_ = c.Close()
	}
	p.free = nil
}
