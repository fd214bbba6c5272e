package faultproxy_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/idemrace/idemrace/faultproxy"
)

// cutAfter is what a fault looks like: it cuts a link when n data commands have
// passed, exactly behind the last byte of the nth.
type cutAfter struct {
	left atomic.Int64
}

func (f *cutAfter) Pass(_ context.Context, c faultproxy.Chunk) ([]byte, error) {
	for _, cmd := range c.Commands {
		if faultproxy.Data(cmd.Name) && f.left.Add(-1) == 0 {
			return c.Bytes[:cmd.End], faultproxy.ErrCut
		}
	}
	return c.Bytes, nil
}

func TestAFaultCutsBetweenTwoCommands(t *testing.T) {
	store := make(chan string, 1)
	f := &cutAfter{}
	f.left.Store(2)
	p := listen(t, upstream(t, recordTo(store)), faultproxy.WithFault(f))
	c := dial(t, p)
	// One write, one chunk most likely; and in pieces it must be the same.
	_, err := io.WriteString(c, "PING\r\nSET k v\r\nGET k\r\nDEL k\r\n")
	must(t, err)
	mustBeCut(t, c)
	if got := <-store; got != "PING\r\nSET k v\r\nGET k\r\n" {
		t.Errorf("the store read %q, want all up to the second data command", got)
	}
}

// End counts from the chunk's first byte in later chunks too.
func TestAFaultCutsInALaterChunk(t *testing.T) {
	store := make(chan string, 1)
	f := &cutAfter{}
	f.left.Store(3)
	p := listen(t, upstream(t, func(c *net.TCPConn) {
		var read strings.Builder
		io.Copy(c, io.TeeReader(c, &read))
		store <- read.String()
	}), faultproxy.WithFault(f))
	c := dial(t, p)
	say(t, c, "SET k v\r\n") // each answer ends a chunk
	say(t, c, "GET ")
	say(t, c, "k\r\n")
	_, err := io.WriteString(c, "DEL k\r\nINCR k\r\n")
	must(t, err)
	mustBeCut(t, c)
	if got, want := <-store, "SET k v\r\nGET k\r\nDEL k\r\n"; got != want {
		t.Errorf("the store read %q, want %q", got, want)
	}
}

// head lets only the first bytes of a chunk pass.
type head int

func (f head) Pass(_ context.Context, c faultproxy.Chunk) ([]byte, error) {
	return c.Bytes[:min(int(f), len(c.Bytes))], nil
}

// A later fault is told of what an earlier one has left, and can rely on End.
func TestFaultsActOneAfterTheOther(t *testing.T) {
	f := &cutAfter{}
	f.left.Store(2)
	p := listen(t, upstream(t, echo), faultproxy.WithFault(head(len("GET k\r\n"))), faultproxy.WithFault(f))
	c := dial(t, p)
	_, err := io.WriteString(c, "GET k\r\nDEL k\r\n") // the second is lost, so it must not cut
	must(t, err)
	got := make([]byte, len("GET k\r\n"))
	_, err = io.ReadFull(c, got)
	must(t, err)
	say(t, c, "\r\n")
	_, err = io.WriteString(c, "DEL k\r\n")
	must(t, err)
	mustBeCut(t, c)
}

// recordTo serves one connection: it reads to the end, and tells what it read.
func recordTo(store chan<- string) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		b, _ := io.ReadAll(c)
		store <- string(b)
	}
}

// swallow loses all answers while it acts.
type swallow struct{ lost chan string }

func (f swallow) Pass(_ context.Context, c faultproxy.Chunk) ([]byte, error) {
	if c.Direction == faultproxy.ToStore {
		return c.Bytes, nil
	}
	f.lost <- string(c.Bytes)
	return nil, nil
}

// A fault acts on links that are open already, and ends when it is told to.
func TestDisturbAndEnd(t *testing.T) {
	p := listen(t, upstream(t, echo))
	c := dial(t, p)
	say(t, c, "before")
	lost := make(chan string, 1)
	end := p.Disturb(swallow{lost})
	_, err := io.WriteString(c, "asked")
	must(t, err)
	if got := <-lost; got != "asked" {
		t.Errorf("the fault saw %q", got)
	}
	end()
	end() // harmless
	say(t, c, "after")
}

// stuck blocks as long as it may.
type stuck struct{ in chan<- struct{} }

func (f stuck) Pass(ctx context.Context, _ faultproxy.Chunk) ([]byte, error) {
	f.in <- struct{}{}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// A fault that holds a link does not hold up Down, nor Close.
func TestDownEndsAFaultThatHolds(t *testing.T) {
	in := make(chan struct{}, 1)
	p := listen(t, upstream(t, echo), faultproxy.WithFault(stuck{in}))
	c := dial(t, p)
	_, err := io.WriteString(c, "x")
	must(t, err)
	<-in
	p.Down()
	mustBeCut(t, c)
}
