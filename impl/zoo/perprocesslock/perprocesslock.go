// Package perprocesslock shares its results and not its lock.
//
// What is wrong: a mutex per key, in the process's memory, keeps duplicates apart;
// only results go to the shared store. One worker is safe. With two, the retry that
// the load balancer sends to the other one finds the lock free and no result yet:
// both charge, and the later result replaces the earlier. And a lock that dies with
// its process protects no charge that is still under way.
//
// Seen in gofiber; magento2, issue 10767.
//
// Right: the claim is where the results are, in the store that all workers share.
package perprocesslock

import (
	"context"
	"sync"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/store"
)

// New makes one process's coordinator.
func New(kv store.KV, clk clock.Clock, cfg plain.Config) (*plain.Coordinator, error) {
	l := &locks{held: map[string]plain.Value{}}
	return plain.New(kv, clk, cfg, plain.Parts{Claim: l.claim, Complete: l.complete, Fail: l.fail})
}

// locks are the keys that this process has in flight.
type locks struct {
	mu   sync.Mutex
	held map[string]plain.Value
}

// claim looks for a result, locks, and looks again, for the lock may have been
// another's until a moment ago: the right order, in the wrong place.
func (l *locks) claim(ctx context.Context, a *plain.Attempt) (*plain.Value, error) {
	stands, err := a.Read(ctx)
	if stands != nil || err != nil {
		return stands, err
	}
	if holder := l.lock(a); holder != nil {
		return holder, nil
	}
	if stands, err = a.Read(ctx); stands != nil || err != nil {
		l.unlock(a)
	}
	return stands, err
}

func (l *locks) complete(ctx context.Context, a *plain.Attempt, result []byte) (*plain.Value, error) {
	defer l.unlock(a)
	return nil, a.Put(ctx, a.Done(result), a.Config.Retention)
}

func (l *locks) fail(_ context.Context, a *plain.Attempt, cause error) error {
	l.unlock(a)
	return cause
}

// lock returns the holder, nil if that is the attempt now.
func (l *locks) lock(a *plain.Attempt) *plain.Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	if holder, held := l.held[a.Name]; held {
		return &holder
	}
	l.held[a.Name] = a.Pending()
	return nil
}

// unlock frees the attempt's own lock; who ran with the store down has none.
func (l *locks) unlock(a *plain.Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if holder, held := l.held[a.Name]; held && a.Owns(holder) {
		delete(l.held, a.Name)
	}
}
