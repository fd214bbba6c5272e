package fakeprovider

import "context"

// AwaitArrivals returns when n calls have arrived since the start, open or over.
// Like the other Awaits it returns the context's cause if that ends first, and
// ErrClosed if the provider closes before.
func (p *Provider) AwaitArrivals(ctx context.Context, n int) error {
	return p.await(ctx, func() bool { return p.counts.Attempts >= n })
}

// AwaitCharges returns when the ledger has n charges.
func (p *Provider) AwaitCharges(ctx context.Context, n int) error {
	return p.await(ctx, func() bool { return p.counts.Charges >= n })
}

// AwaitHeld returns when n calls are held at one time.
func (p *Provider) AwaitHeld(ctx context.Context, n int) error {
	return p.await(ctx, func() bool { return len(p.held) >= n })
}

// AwaitQuiet returns when no call is open: the ledger changes no more unless a
// new call arrives.
func (p *Provider) AwaitQuiet(ctx context.Context) error {
	return p.await(ctx, func() bool { return len(p.open) == 0 })
}

// await returns when seen, which is called inside the lock, finds what it looks for.
func (p *Provider) await(ctx context.Context, seen func() bool) error {
	for {
		changed, err := p.look(seen)
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// look returns the channel to wait on before looking again; nil ends the wait.
func (p *Provider) look(seen func() bool) (changed <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seen() {
		return nil, nil
	}
	if p.closed {
		return nil, ErrClosed
	}
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed, nil
}

// change wakes whoever waits for one. It costs nothing when nobody does.
func (p *Provider) change() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}
