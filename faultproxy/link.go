package faultproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/idemrace/idemrace/faultproxy/resp"
)

// link is one client's connection and the one to the store that belongs to it.
type link struct {
	proxy  *Proxy
	number int
	client net.Conn

	running context.Context // ends with the link
	end     context.CancelFunc

	mu    sync.Mutex
	store net.Conn // nil until connected
	ended bool
}

// join serves a new client. Its link is known before anything is dialled, so
// that Down can cut it at any moment.
func (p *Proxy) join(client net.Conn) {
	l := &link{proxy: p, client: client}
	l.running, l.end = context.WithCancel(p.running)
	p.mu.Lock()
	p.linked++
	l.number = p.linked
	p.links[l] = struct{}{}
	p.mu.Unlock()
	p.work.Go(func() {
		l.serve()
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	})
}

// serve passes bytes both ways until the link ends. A store that is not there
// shows as one that hangs up at once: the proxy has accepted already.
func (l *link) serve() {
	defer l.hangUp()
	var d net.Dialer
	store, err := d.DialContext(l.running, "tcp", l.proxy.upstream)
	if err != nil || !l.connect(store) {
		return
	}
	var toStore sync.WaitGroup
	toStore.Go(func() {
		if err := l.pump(ToStore, store, l.client, l.scanner()); errors.Is(err, io.EOF) {
			// The client has nothing more to say, and may still listen.
			_ = store.(*net.TCPConn).CloseWrite()
			return
		}
		l.cut()
	})
	if err := l.pump(ToClient, l.client, store, nil); errors.Is(err, io.EOF) {
		l.hangUp()
	}
	l.cut()
	toStore.Wait()
}

// connect takes over the connection to the store, unless the link was cut
// meanwhile.
func (l *link) connect(store net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		store.Close()
		return false
	}
	l.store = store
	return true
}

// cut ends both connections now. The client's is reset, as by a machine that has
// lost power: no last bytes, no farewell. The store's is closed in order, so that
// the store still reads what it was sent.
func (l *link) cut() {
	l.close(func(client *net.TCPConn) { _ = client.SetLinger(0) })
}

// hangUp ends both because the store has ended or is not there: the client reads
// what the store sent last, and then the end.
func (l *link) hangUp() {
	l.close(func(*net.TCPConn) {})
}

func (l *link) close(prepare func(client *net.TCPConn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	l.end()
	prepare(l.client.(*net.TCPConn))
	l.client.Close()
	if l.store != nil {
		l.store.Close()
	}
}

// pump passes bytes on, in one direction, until a connection ends or a fault
// cuts it. The error is never nil; io.EOF is an end in order.
func (l *link) pump(d Direction, to io.Writer, from io.Reader, scan *scanner) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if err := l.pass(d, to, buf[:n], scan); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// pass counts before it sends: whoever has an answer can rely on it that the
// command was counted.
func (l *link) pass(d Direction, to io.Writer, b []byte, scan *scanner) error {
	chunk := Chunk{Link: l.number, Direction: d, Bytes: b, Commands: scan.scan(b)}
	l.proxy.count.add(chunk.Commands)
	b, fault := l.proxy.faults.pass(l.running, chunk)
	if len(b) > 0 {
		if _, err := to.Write(b); err != nil {
			return err
		}
	}
	return fault
}

// scanner finds the commands of one link's stream, chunk by chunk.
type scanner struct {
	resp  *resp.Scanner
	found []resp.Command
	seen  int64 // bytes scanned before this chunk
}

func (l *link) scanner() *scanner {
	s := &scanner{}
	s.resp = resp.NewScanner(func(c resp.Command) {
		c.End -= s.seen
		s.found = append(s.found, c)
	})
	return s
}

// scan returns the commands that these bytes complete, each End counted from the
// chunk's first byte; none for the direction that has no scanner.
func (s *scanner) scan(b []byte) []resp.Command {
	if s == nil {
		return nil
	}
	s.found = nil
	_, _ = s.resp.Write(b)
	s.seen += int64(len(b))
	return s.found
}
