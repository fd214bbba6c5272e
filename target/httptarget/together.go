package httptarget

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/target"
)

// gate holds back the last byte of each request of a burst until all are at it. By
// then connections are open and everything else is serialised; what is left is one
// write each.
type gate struct {
	mu   sync.Mutex
	want int
	open chan struct{}
}

// lastByteWithin is how long a burst waits for its slowest connection: a server that
// accepts fewer than there are must not hold up those that it has.
const lastByteWithin = 2 * time.Second

func newGate(n int) *gate { return &gate{want: n, open: make(chan struct{})} }

// arrive counts one that is ready, or never will be.
func (g *gate) arrive() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.want--; g.want == 0 {
		close(g.open)
	}
}

// body is a request's, read once. With a gate its last byte waits there.
type body struct {
	ctx     context.Context
	rest    *strings.Reader
	gate    *gate
	arrived sync.Once
}

// newBody is nil for an empty body, as net/http wants it.
func newBody(ctx context.Context, text string, g *gate) io.Reader {
	if text == "" {
		return nil
	}
	return &body{ctx: ctx, rest: strings.NewReader(text), gate: g}
}

func (b *body) Read(p []byte) (int, error) {
	if b.gate != nil && b.rest.Len() > 1 {
		return b.rest.Read(p[:min(len(p), b.rest.Len()-1)])
	}
	if b.gate != nil && b.rest.Len() == 1 {
		b.wait()
	}
	return b.rest.Read(p)
}

func (b *body) wait() {
	b.arrived.Do(b.gate.arrive)
	patience := time.NewTimer(lastByteWithin)
	defer patience.Stop()
	select {
	case <-b.gate.open:
	case <-patience.C:
	case <-b.ctx.Done():
	}
}

// Close is for net/http; whoever closes without having come to the last byte will
// not come any more.
func (b *body) Close() error {
	if b.gate != nil {
		b.arrived.Do(b.gate.arrive)
	}
	return nil
}

// SendTogether opens connections first, then lets all requests go at once; the
// answer of attempts[i] is handed to answered(i, …), from goroutines of its own,
// each once; it returns when all are answered.
func (c *Cell) SendTogether(ctx []context.Context, attempts []target.Attempt, answered func(i int, r target.Response)) {
	g := newGate(len(attempts))
	var sending sync.WaitGroup
	for i, a := range attempts {
		sending.Go(func() {
			r, err := c.request(ctx[i], a, g)
			if err != nil {
				g.arrive()
				answered(i, target.Response{Answer: history.Error, Detail: err.Error()})
				return
			}
			if r.req.Body == nil { // nothing to hold back: as close as goroutines get
				g.arrive()
				<-g.open
			}
			answered(i, c.do(ctx[i], a, r))
		})
	}
	sending.Wait()
}
