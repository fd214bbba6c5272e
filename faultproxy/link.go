package faultproxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/idemrace/idemrace/faultproxy/resp"
)

const (
	// chunkSize is how much is read at once.
	chunkSize = 32 << 10
	// readAhead is how many chunks of one link are read before they are delivered.
	readAhead = 64
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
	var others sync.WaitGroup
	pairs := newPairs()
	others.Go(func() {
		if err := l.pump(l.client, store, pairs); errors.Is(err, io.EOF) {
			// The client has nothing more to say, and may still listen.
			_ = store.(*net.TCPConn).CloseWrite()
			return
		}
		l.cut()
	})
	arrived := make(chan arrival, readAhead)
	others.Go(func() { l.read(store, arrived) })
	if err := l.deliver(arrived, pairs); errors.Is(err, io.EOF) {
		l.hangUp()
	}
	l.cut()
	others.Wait()
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

// pump passes on what the client sends, until a connection ends or a fault cuts
// it. The error is never nil; io.EOF is an end in order.
func (l *link) pump(from io.Reader, to io.Writer, pairs *pairs) error {
	buf, scan := make([]byte, chunkSize), l.scanner()
	for {
		n, err := from.Read(buf)
		if n > 0 {
			b := buf[:n]
			chunk := Chunk{Link: l.number, Direction: ToStore, Bytes: b, Commands: scan.scan(b), Arrived: time.Now()}
			// Counted before it is sent: whoever has an answer can rely on it.
			l.proxy.count.add(chunk.Commands)
			if err := l.pass(to, chunk, pairs); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// arrival is what one read from the store gave.
type arrival struct {
	bytes []byte
	at    time.Time
	err   error
}

// read reads what the store sends as it comes, ahead of what is delivered, so
// that a fault can tell how late bytes are already.
func (l *link) read(from io.Reader, arrived chan<- arrival) {
	buf := make([]byte, chunkSize)
	for {
		n, err := from.Read(buf)
		select {
		case arrived <- arrival{bytes.Clone(buf[:n]), time.Now(), err}:
		case <-l.running.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// deliver passes on what the store has sent. Its error is as pump's.
func (l *link) deliver(arrived <-chan arrival, pairs *pairs) error {
	for {
		var a arrival
		select {
		case a = <-arrived:
		case <-l.running.Done():
			return context.Cause(l.running)
		}
		if len(a.bytes) > 0 {
			chunk := Chunk{Link: l.number, Direction: ToClient, Bytes: a.bytes, Replies: pairs.received(a.bytes), Arrived: a.at}
			if err := l.pass(l.client, chunk, pairs); err != nil {
				return err
			}
		}
		if a.err != nil {
			return a.err
		}
	}
}

// pass sends what the faults leave of a chunk. The commands among it are awaited
// before they are sent, since the reply may come at once.
func (l *link) pass(to io.Writer, c Chunk, pairs *pairs) error {
	acting := l.proxy.faults.now()
	defer acting.sent(c)
	b, fault := acting.pass(l.running, c)
	pairs.sent(within(c.Commands, len(b)))
	var err error
	if len(b) > 0 {
		_, err = to.Write(b)
	}
	var all *fall
	if errors.As(fault, &all) {
		l.proxy.fall(l.running, all)
	}
	return cmp.Or(err, fault)
}

// scanner finds the commands of one link's stream, chunk by chunk.
type scanner struct {
	resp  *resp.Scanner
	found []Command
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
// chunk's first byte.
func (s *scanner) scan(b []byte) []Command {
	s.found = nil
	_, _ = s.resp.Write(b)
	s.seen += int64(len(b))
	return s.found
}
