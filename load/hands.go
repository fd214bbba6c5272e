package load

import "sync"

// hands are goroutines that send, each again and again: a new goroutine's stack grows
// by being copied while its first request is on its way, and that costs as much as a
// system call.
type hands struct {
	start func(func())
	do    func(Request)

	mu   sync.Mutex
	over bool
	idle []chan Request // the last that was at rest first
}

// send hands a request to one that is at rest, or to a new one. It does not wait.
func (h *hands) send(r Request) {
	h.mu.Lock()
	if n := len(h.idle); n > 0 {
		hand := h.idle[n-1]
		h.idle = h.idle[:n-1]
		h.mu.Unlock()
		hand <- r
		return
	}
	h.mu.Unlock()
	h.start(func() { h.work(r) })
}

// work does a request, and those that come later.
func (h *hands) work(r Request) {
	next := make(chan Request, 1)
	for more := true; more; r, more = <-next {
		h.do(r)
		h.mu.Lock()
		if h.over {
			h.mu.Unlock()
			return
		}
		h.idle = append(h.idle, next)
		h.mu.Unlock()
	}
}

// rest sends those home that are at rest, and the others when they are done.
func (h *hands) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	for _, hand := range h.idle {
		close(hand)
	}
	h.idle = nil
}
