package target

import "context"

func (t *InProcess) begun(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy[worker]++
}

func (t *InProcess) ended(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy[worker]--
	if t.rest != nil {
		close(t.rest)
		t.rest = nil
	}
}

// Idle blocks until no living worker has a request under way: a client that has
// hung up does not end its own, and what it left behind still counts.
func (t *InProcess) Idle(ctx context.Context) error {
	for {
		rest := t.resting()
		if rest == nil {
			return nil
		}
		select {
		case <-rest:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// resting is what to wait for, nil if there is nothing.
func (t *InProcess) resting() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, n := range t.busy {
		if n > 0 && !t.isDead(name) {
			if t.rest == nil {
				t.rest = make(chan struct{})
			}
			return t.rest
		}
	}
	return nil
}

func (t *InProcess) isDead(worker string) bool {
	select {
	case <-t.workers[worker].Life.Dead():
		return true
	default:
		return false
	}
}
