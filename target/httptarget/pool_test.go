package httptarget

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a connection to nobody.
func piped(t *testing.T) *conn {
	a, b := net.Pipe()
	t.Cleanup(func() { _ = a.Close(); _ = b.Close() })
	return &conn{Conn: a, in: bufio.NewReader(a)}
}

// With as many connections being made as may be, a caller takes what comes first: a
// connection that comes back, its turn to make one, or the end of its patience. What is
// handed to one that has just left goes on to the next.
func TestPoolMakesFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pool{addr: "127.0.0.1:1", dialing: maxDialing}
		var waiting sync.WaitGroup
		type got struct {
			c   *conn
			err error
		}
		results := make(chan got, 3)
		take := func(ctx context.Context, patience time.Duration) {
			waiting.Go(func() {
				c, err := p.take(ctx, time.Now().Add(patience))
				results <- got{c, err}
			})
			synctest.Wait()
		}
		back := piped(t)
		take(t.Context(), time.Hour)
		p.give(back)
		if r := <-results; r.c != back || r.err != nil {
			t.Errorf("a connection that came back: %+v", r)
		}
		take(t.Context(), time.Second)
		if r := <-results; !errors.Is(r.err, os.ErrDeadlineExceeded) || len(p.waiting) != 0 {
			t.Errorf("the end of patience: %+v, %d wait", r, len(p.waiting))
		}
		gone, leave := context.WithCancel(t.Context())
		take(gone, time.Hour)
		leave()
		if r := <-results; !errors.Is(r.err, context.Canceled) || len(p.waiting) != 0 {
			t.Errorf("a client that leaves: %+v, %d wait", r, len(p.waiting))
		}
		waiting.Wait()
		if p.dialing != maxDialing {
			t.Errorf("%d are being made", p.dialing)
		}
		for range maxDialing {
			p.dialed()
		}
		if p.dialing != 0 {
			t.Errorf("%d are being made by nobody", p.dialing)
		}
	})
}

// What was handed to a caller that left at that moment is not lost.
func TestPoolLosesNothing(t *testing.T) {
	for _, turn := range []bool{true, false} {
		p := &pool{addr: "127.0.0.1:1", dialing: maxDialing}
		_, mine := p.next()
		_, others := p.next()
		back := piped(t)
		if turn {
			p.dialed()
		} else {
			p.give(back)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		c, err := p.wait(gone, mine, time.Now().Add(time.Hour))
		if err == nil { // it saw what it was handed first
			if c != nil {
				p.give(c)
			} else {
				p.dialed()
			}
		}
		select {
		case c := <-others:
			if turn != (c == nil) {
				t.Errorf("the next was handed %v", c)
			}
		default:
			t.Errorf("the next was handed nothing (turn %v)", turn)
		}
	}
}

// A hundred callers and a server that is slow to accept: all are served, and the
// connections that were made are no more than there were callers.
func TestPoolServesAll(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := &pool{addr: ln.Addr().String()}
	defer p.close()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			for range 20 {
				c, err := p.take(t.Context(), time.Now().Add(time.Minute))
				if err != nil {
					t.Error(err)
					return
				}
				p.give(c)
			}
		})
	}
	all.Wait()
	if p.dialing != 0 || len(p.waiting) != 0 || len(p.free) > 100 || len(p.free) == 0 {
		t.Errorf("%d are being made, %d wait, %d rest", p.dialing, len(p.waiting), len(p.free))
	}
}
