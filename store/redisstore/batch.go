package redisstore

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// atOnce is how many batches of one lane are under way. With one, every command
	// waits for a whole round trip before its own; with many, each is small, and
	// costs the system calls that batching saves. On loopback one to four do the
	// same; at 1 ms a round trip four do 1.3 times as much as one.
	atOnce = 4
	// maxCommands and maxBytes bound a batch, so that nobody waits for the sending of
	// a neighbour's large result. One command may be larger by itself.
	maxCommands = 128
	maxBytes    = 64 << 10
	// stuckAfter is when a batch counts no longer. Its connection may have died
	// without a word, and its callers wait for the client's time-out; nobody else
	// need.
	stuckAfter = 50 * time.Millisecond
)

// batches sends the commands of concurrent callers together: what comes while
// others are under way goes with the next pipeline. A command that comes when
// less than atOnce are under way goes out by itself, at once.
//
// Nothing lives on between commands: a goroutine that has nothing left to send
// ends. So there is nothing to close.
//
// (The client library's own automatic pipelines are not used. They are called
// experimental, belong to the client, which is the user's, and send on a context
// that knows no caller's deadline.)
type batches struct {
	client redis.UniversalClient

	mu    sync.Mutex
	lanes map[string]*lane // by the address of a master; "" without a cluster
}

func newBatches(client redis.UniversalClient) *batches {
	return &batches{client: client, lanes: map[string]*lane{}}
}

// send returns when cmd has its reply or its error, or with the context's error
// when that ends first; cmd must not be read then.
func (b *batches) send(ctx context.Context, key string, cmd redis.Cmder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l, err := b.lane(ctx, key)
	if err != nil {
		return err
	}
	w := &wanted{ctx: ctx, cmd: cmd, done: make(chan struct{})}
	l.add(w)
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lane is the key's. In a cluster each master has its own, for a pipeline ends
// when its slowest node has answered. Where a key has moved, the client follows.
func (b *batches) lane(ctx context.Context, key string) (*lane, error) {
	addr := ""
	if cluster, ok := b.client.(*redis.ClusterClient); ok {
		var err error
		if addr, err = interruptible(ctx, func(ctx context.Context) (string, error) { return master(ctx, cluster, key) }); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lanes[addr] == nil {
		b.lanes[addr] = &lane{client: b.client}
	}
	return b.lanes[addr], nil
}

func master(ctx context.Context, cluster *redis.ClusterClient, key string) (string, error) {
	node, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return "", err
	}
	return node.Options().Addr, nil
}

// wanted is a command whose caller waits for done.
type wanted struct {
	ctx  context.Context
	cmd  redis.Cmder
	done chan struct{}
}

// lane is one server's queue. As long as something is queued, atOnce batches are
// under way, and each end takes the next.
type lane struct {
	client redis.UniversalClient

	mu       sync.Mutex
	queue    []*wanted
	underWay int
}

func (l *lane) add(w *wanted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, w)
	l.start()
}

// start has the queue sent, unless enough is under way. The lane is locked.
func (l *lane) start() {
	if len(l.queue) > 0 && l.underWay < atOnce {
		l.underWay++
		go l.serve()
	}
}

// serve sends batches until nothing is queued, or until one was stuck: then its
// place was given away.
func (l *lane) serve() {
	for {
		l.gather()
		batch := l.take()
		if batch == nil || !l.deliver(batch) {
			return
		}
	}
}

// gather lets those ask who can: an answered batch wakes many callers, and the
// first would else go out by itself. Nobody waits for time, and a caller who is
// alone for nothing.
func (l *lane) gather() {
	l.mu.Lock()
	company := l.underWay > 1
	l.mu.Unlock()
	if company {
		runtime.Gosched()
	}
}

// take returns nil, and gives up the place, when nothing is queued.
func (l *lane) take() []*wanted {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.underWay--
		return nil
	}
	n := fitting(l.queue)
	batch := slices.Clone(l.queue[:n])
	l.queue = slices.Delete(l.queue, 0, n)
	return batch
}

// deliver sends a batch, and reports whether it was answered before it counted
// as stuck.
func (l *lane) deliver(batch []*wanted) (inTime bool) {
	stuck := time.AfterFunc(stuckAfter, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.underWay--
		l.start()
	})
	exec(l.client, batch)
	return stuck.Stop()
}

// exec sends a batch. Each command gets its own reply or error; when the
// connection breaks, all of them get that, as none is sure to have been applied.
func exec(client redis.UniversalClient, batch []*wanted) {
	here := slices.DeleteFunc(slices.Clone(batch), func(w *wanted) bool { return w.ctx.Err() != nil })
	switch len(here) {
	case 0: // all have left before anything was sent
	case 1:
		_ = client.Process(here[0].ctx, here[0].cmd) // the command keeps its error
	default:
		ctx, cancel := together(here)
		pipe := client.Pipeline()
		for _, w := range here {
			_ = pipe.Process(ctx, w.cmd)
		}
		_, _ = pipe.Exec(ctx) // the first command's error: each keeps its own
		cancel()
	}
	for _, w := range batch {
		close(w.done)
	}
}

// together is a context that ends with the last deadline of the batch, if all
// have one. Whoever leaves earlier leaves alone.
func together(batch []*wanted) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, w := range batch {
		end, ok := w.ctx.Deadline()
		if !ok {
			return context.Background(), func() {}
		}
		if end.After(last) {
			last = end
		}
	}
	return context.WithDeadline(context.Background(), last)
}

// fitting is how many commands from the head of the queue go into one batch.
func fitting(queue []*wanted) int {
	bytes := 0
	for i, w := range queue {
		bytes += size(w.cmd)
		if i > 0 && (i == maxCommands || bytes > maxBytes) {
			return i
		}
	}
	return len(queue)
}

// size is about a command's length on the wire.
func size(cmd redis.Cmder) int {
	n := 0
	for _, arg := range cmd.Args() {
		switch arg := arg.(type) {
		case string:
			n += len(arg)
		case []byte:
			n += len(arg)
		}
	}
	return n
}
