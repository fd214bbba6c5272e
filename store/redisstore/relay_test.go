package redisstore_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// relay stands between a client and a server and does one of two things to
// replies: holds them back, or cuts the connection instead of passing one on.
type relay struct {
	listener net.Listener
	server   string
	held     chan struct{} // told of each reply that is held back

	mu      sync.Mutex
	cuts    int           // so many replies are still to be lost
	release chan struct{} // not nil: replies wait until it is closed
	conns   []net.Conn
	running sync.WaitGroup
}

func newRelay(t *testing.T, server string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, server: server, held: make(chan struct{}, 100)}
	r.running.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

func (r *relay) addr() string { return r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, client, server)
		r.mu.Unlock()
		r.running.Go(func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		})
		r.running.Go(func() { r.replies(client, server) })
	}
}

func (r *relay) replies(client, server net.Conn) {
	defer client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil || r.cut() {
			return
		}
		r.wait()
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (r *relay) cut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cuts == 0 {
		return false
	}
	r.cuts--
	return true
}

func (r *relay) wait() {
	r.mu.Lock()
	release := r.release
	r.mu.Unlock()
	if release != nil {
		r.held <- struct{}{}
		<-release
	}
}

// lose cuts the connection instead of passing on each of the next n replies.
func (r *relay) lose(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cuts = n
}

// hold keeps every reply back until the function that it returns is called.
func (r *relay) hold() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ch := make(chan struct{})
	r.release = ch
	return sync.OnceFunc(func() {
		r.mu.Lock()
		r.release = nil
		r.mu.Unlock()
		close(ch)
	})
}

func (r *relay) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.running.Wait()
}
