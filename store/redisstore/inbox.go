package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
)

// errClosed: the store is closed, or was closed meanwhile.
var errClosed = errors.New("store closed")

const (
	// confirmWithin is the server's time to confirm a subscription: that of any
	// other reply.
	confirmWithin = ReplyTimeout
	// pingEvery is how often the subscription asks whether its connection lives,
	// and silentFor after how long without any answer it counts as broken. A
	// connection that dies without a word costs its waiters at most that long, or
	// their limit.
	pingEvery = 5 * time.Second
	silentFor = 12 * time.Second
)

// inbox is where this store hears of settled records: one channel, one
// subscription, any number of keys and waiters. The subscription is made when
// somebody first wants to wait. When it breaks, all waiters are woken to claim
// again, because their notices may have been lost; that claim makes a new one.
type inbox struct {
	client  redis.UniversalClient
	prefix  string
	channel string

	mu      sync.Mutex
	closed  bool
	sub     *subscription // nil, or the one that lives
	running sync.WaitGroup
	waiters map[store.Ticket]*waiter
	byName  map[string]map[store.Ticket]*waiter
	last    store.Ticket
}

func newInbox(client redis.UniversalClient, prefix, channel string) *inbox {
	return &inbox{
		client:  client,
		prefix:  prefix,
		channel: channel,
		waiters: map[store.Ticket]*waiter{},
		byName:  map[string]map[store.Ticket]*waiter{},
	}
}

// subscription is one connection's. ready is closed when the server has
// confirmed it; ctx ends with it, and its cause says why.
type subscription struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	ready  chan struct{}
}

// listen returns when a subscription is confirmed.
func (b *inbox) listen(ctx context.Context) error {
	sub, err := b.current()
	if err != nil {
		return err
	}
	select {
	case <-sub.ready:
		return nil
	case <-sub.ctx.Done():
		return context.Cause(sub.ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// current returns the living subscription, or starts one.
func (b *inbox) current() (*subscription, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	if b.sub == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		b.sub = &subscription{ctx: ctx, cancel: cancel, ready: make(chan struct{})}
		b.running.Go(func() { b.serve(b.sub) })
	}
	return b.sub, nil
}

// serve is a subscription's life, in a goroutine of its own.
func (b *inbox) serve(sub *subscription) {
	pubsub := b.client.Subscribe(sub.ctx, b.channel) // an error shows in the first receive
	stop := context.AfterFunc(sub.ctx, func() { _ = pubsub.Close() })
	b.running.Go(func() { ping(sub.ctx, pubsub) })
	err := b.receive(sub, pubsub)
	b.mu.Lock()
	b.sub = nil
	b.mu.Unlock()
	sub.cancel(err)
	stop()
	_ = pubsub.Close()
	b.wakeAll()
}

// receive hands out messages until the connection breaks.
func (b *inbox) receive(sub *subscription, pubsub *redis.PubSub) error {
	confirmed, patience := false, confirmWithin
	for {
		got, err := pubsub.ReceiveTimeout(sub.ctx, patience)
		if err != nil {
			return err
		}
		switch got := got.(type) {
		case *redis.Subscription:
			if confirmed {
				return errors.New("subscription was made anew") // the client reconnected behind our back
			}
			confirmed, patience = true, silentFor
			close(sub.ready)
		case *redis.Message:
			b.open(got.Payload)
		}
	}
}

// open hands a message to the waiters of its name. One that cannot be read may
// have been anybody's notice.
func (b *inbox) open(message string) {
	name, notice, err := parseMessage(b.prefix, message)
	if err != nil {
		b.wakeAll()
		return
	}
	b.wake(name, notice)
}

// ping keeps the connection honest; the answer, or its absence, shows in receive.
func ping(ctx context.Context, pubsub *redis.PubSub) {
	for sleep(ctx, pingEvery) {
		if pubsub.Ping(ctx) != nil {
			_ = pubsub.Close()
			return
		}
	}
}

// close ends the subscription and waits until its goroutines have ended.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	sub := b.sub
	b.mu.Unlock()
	if sub != nil {
		sub.cancel(errClosed)
	}
	b.wakeAll()
	b.running.Wait()
}
