package faultproxy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for reads that would otherwise hang when a test fails. No test
// that passes waits for it.
const patience = 20 * time.Second

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// upstream is a server that serves each connection with serve, then closes it.
func upstream(t *testing.T, serve func(*net.TCPConn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() { ln.Close(); work.Wait() })
	return ln.Addr().String()
}

func echo(c *net.TCPConn) { io.Copy(c, c) }

func listen(t *testing.T, upstream string, opts ...faultproxy.Option) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Listen(upstream, opts...)
	must(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

func dial(t *testing.T, p *faultproxy.Proxy) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	must(t, err)
	t.Cleanup(func() { c.Close() })
	must(t, c.SetDeadline(time.Now().Add(patience)))
	return c.(*net.TCPConn)
}

// say writes and reads the same back: the connection is whole.
func say(t *testing.T, c net.Conn, words string) {
	t.Helper()
	_, err := io.WriteString(c, words)
	must(t, err)
	got := make([]byte, len(words))
	_, err = io.ReadFull(c, got)
	must(t, err)
	if string(got) != words {
		t.Fatalf("got %q back, want %q", got, words)
	}
}

// mustBeCut reads until the end, which has to come by itself.
func mustBeCut(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, c)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading from a cut connection: %v, want its end or a reset", err)
	}
}

func mustBeRefused(t *testing.T, p *faultproxy.Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialling: %v, want connection refused", err)
	}
}

// What goes in comes out, both ways, to the last byte; and a client that has
// ended its side still gets the rest of the answer.
func TestBytesPassUnchanged(t *testing.T) {
	p := listen(t, upstream(t, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c) // until the client ends its side
		c.Write(all)
	}))
	sent := make([]byte, 3<<20)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range sent {
		sent[i] = byte(r.Uint32())
	}
	copy(sent, "*1\r\n$4\r\nPING\r\n") // commands first, then garbage
	c := dial(t, p)
	_, err := c.Write(sent)
	must(t, err)
	must(t, c.CloseWrite())
	got, err := io.ReadAll(c)
	must(t, err)
	if !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came back of %d, or others", len(got), len(sent))
	}
}

// TLS is bytes that the proxy cannot read: they pass, uncounted.
func TestTLSPassesUncounted(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "through") }))
	defer s.Close()
	p := listen(t, s.Listener.Addr().String())
	client := s.Client()
	defer client.CloseIdleConnections()
	res, err := client.Get("https://" + p.Addr())
	must(t, err)
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "through" {
		t.Errorf("got %q, %v", b, err)
	}
	if n := p.CommandCounts(); len(n) != 0 {
		t.Errorf("counted %v in TLS", n)
	}
}

func TestDownCutsAndRefuses(t *testing.T) {
	p := listen(t, upstream(t, echo))
	other := listen(t, upstream(t, echo))
	conns := []net.Conn{dial(t, p), dial(t, p)}
	untouched := dial(t, other)
	for _, c := range append(conns, untouched) {
		say(t, c, "hello")
	}

	p.Down()
	p.Down() // changes nothing
	mustBeRefused(t, p)
	for _, c := range conns {
		mustBeCut(t, c)
	}
	say(t, untouched, "still here") // another cell's store is there
	say(t, dial(t, other), "and takes new ones")

	must(t, p.Up())
	must(t, p.Up()) // changes nothing
	say(t, dial(t, p), "back")
}

// Up has to get the very same port again, at once, whatever connections were cut.
func TestDownAndUpManyTimes(t *testing.T) {
	p := listen(t, upstream(t, echo))
	addr := p.Addr()
	for range 50 {
		c := dial(t, p)
		say(t, c, "x")
		p.Down()
		mustBeRefused(t, p)
		mustBeCut(t, c)
		must(t, p.Up())
	}
	if p.Addr() != addr {
		t.Errorf("address %s, was %s", p.Addr(), addr)
	}
}

// second is a fault that holds the second chunk: the first has then been sent.
type second struct {
	chunks atomic.Int64
	seen   chan struct{}
}

func (f *second) Pass(ctx context.Context, c faultproxy.Chunk) ([]byte, error) {
	n := f.chunks.Add(1)
	f.seen <- struct{}{}
	if n < 2 {
		return c.Bytes, nil
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// The store gets what was passed on before the cut, even if it reads later: that
// is how a command is applied whose reply is lost.
func TestTheStoreReadsWhatWasSentBeforeTheCut(t *testing.T) {
	read, got := make(chan struct{}), make(chan string, 1)
	record := recordTo(got)
	f := &second{seen: make(chan struct{})}
	p := listen(t, upstream(t, func(c *net.TCPConn) { <-read; record(c) }), faultproxy.WithFault(f))
	c := dial(t, p)
	for _, command := range []string{"INCR k\r\n", "DEL k\r\n"} {
		_, err := io.WriteString(c, command)
		must(t, err)
		<-f.seen // one chunk has been taken before the next is written
	}
	p.Down()
	mustBeCut(t, c)
	close(read)
	if b := <-got; b != "INCR k\r\n" {
		t.Errorf("the store read %q", b)
	}
}

// A store that hangs up in order must not look like a cut: its last words arrive.
func TestTheStoresLastWordsArrive(t *testing.T) {
	p := listen(t, upstream(t, func(c *net.TCPConn) { io.WriteString(c, "-ERR max number of clients reached\r\n") }))
	b, err := io.ReadAll(dial(t, p))
	if err != nil || string(b) != "-ERR max number of clients reached\r\n" {
		t.Errorf("read %q, %v", b, err)
	}
}

// The store need not be there when the proxy starts.
func TestUpstreamThatIsNotThere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, ln.Close())
	p := listen(t, ln.Addr().String())
	mustBeCut(t, dial(t, p))
}

func TestListenRefusesWhatIsNoAddress(t *testing.T) {
	for addr, why := range map[string]string{
		"":                      "nothing",
		"localhost":             "no port",
		"redis://127.0.0.1:1/x": "a URL is not host:port",
	} {
		if p, err := faultproxy.Listen(addr); err == nil {
			p.Close()
			t.Errorf("%q was taken: %s", addr, why)
		}
	}
}

func TestClose(t *testing.T) {
	p := listen(t, upstream(t, echo))
	c := dial(t, p)
	say(t, c, "hello")
	must(t, p.Close())
	must(t, p.Close())
	mustBeCut(t, c)
	p.Down() // harmless
	mustBeRefused(t, p)
	if err := p.Up(); !errors.Is(err, faultproxy.ErrClosed) {
		t.Errorf("Up after Close: %v, want ErrClosed", err)
	}
	mustBeRefused(t, p)
}

// Down and Up while clients come and go: no race, no deadlock, and at the end
// everything works.
func TestDownAndUpUnderLoad(t *testing.T) {
	p := listen(t, upstream(t, echo))
	ctx, stop := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			b := make([]byte, 4)
			for ctx.Err() == nil {
				c, err := net.Dial("tcp", p.Addr())
				if err != nil {
					continue
				}
				io.WriteString(c, "ping")
				io.ReadFull(c, b)
				c.Close()
			}
		})
	}
	var switches sync.WaitGroup
	for range 2 {
		switches.Go(func() {
			for range 50 {
				p.Down()
				if err := p.Up(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	switches.Wait()
	stop()
	clients.Wait()
	say(t, dial(t, p), "well")
}
