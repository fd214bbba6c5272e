package faultproxy

import (
	"context"
	"fmt"
)

// fall is the error of a fault that cuts all links, its own among them.
type fall struct {
	down bool          // take the proxy down with them
	done chan struct{} // closed when all that were open are cut
}

// Error implements error.
func (f *fall) Error() string { return fmt.Sprintf("%v: all connections", ErrCut) }

// Is makes it an ErrCut.
func (f *fall) Is(target error) bool { return target == ErrCut }

// fall cuts all links. It is called by one of them, so it must not wait for
// their end; but when it returns, that one is cut, and with down nobody listens.
func (p *Proxy) fall(link context.Context, f *fall) {
	if !f.down {
		p.cutLinks()
		close(f.done)
		return
	}
	p.falls.Go(func() {
		defer close(f.done)
		p.turn.Lock()
		defer p.turn.Unlock()
		if link.Err() == nil { // else somebody else has called Down, and perhaps Up
			p.goDown()
		}
	})
	<-link.Done()
}

func (p *Proxy) cutLinks() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}
