package target

import (
	"context"
	"sync"

	"github.com/idemrace/idemrace/store"
)

// Keep renews only while the worker runs: nobody renews a dead worker's lease,
// and a frozen worker's is not renewed until it goes on.
func (w lifeStore) Keep(ctx context.Context, r store.Renewal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	k := &keeping{lifeStore: w, renewal: r, cancel: cancel, done: make(chan struct{})}
	k.running.Go(func() { k.run(ctx) })
	return ctx, k.stop
}

// keeping is one lease being kept.
type keeping struct {
	lifeStore
	renewal store.Renewal
	cancel  context.CancelCauseFunc // of the context that the action runs on
	done    chan struct{}
	once    sync.Once
	running sync.WaitGroup
}

func (k *keeping) stop() {
	k.once.Do(func() { close(k.done) })
	k.running.Wait()
}

// run keeps the lease through spells of running, one after the other.
func (k *keeping) run(ctx context.Context) {
	for {
		frozen, resumed := k.l.spell()
		if resumed == nil && !k.spell(ctx, frozen) {
			return
		}
		if resumed == nil {
			continue
		}
		select {
		case <-resumed:
		case <-k.l.dead:
			return
		case <-k.done:
			return
		}
	}
}

// spell keeps the lease until the worker freezes, and reports whether it did.
func (k *keeping) spell(ctx context.Context, frozen <-chan struct{}) bool {
	kept, stop := k.s.Keep(ctx, k.renewal)
	defer stop()
	select {
	case <-frozen:
		return true
	case <-kept.Done():
		k.cancel(context.Cause(kept))
	case <-k.l.dead:
	case <-k.done:
	}
	return false
}

// spell is when the running worker freezes, or when the frozen one goes on.
func (l *Life) spell() (frozen, resumed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frozen, l.resumed
}
