package fakeprovider

import (
	"context"
	"sync"

	"github.com/idemrace/idemrace/clock"
)

// Options of a provider. The zero value charges at once, knows no keys and
// tells nobody.
type Options struct {
	Clock       clock.Clock // for Before and After; nil is the real one
	HonoursKeys bool        // has an idempotency of its own, see keys.go
	Default     Behaviour   // of a call for which the script has nothing
	Observe     func(Event) // called inside the lock: must be quick and not call back
}

// Provider is the fake. All methods are safe for concurrent use.
//
// A call is moved on under the one lock, as far as it can go, by whoever lets
// it go on: its caller on arrival, Release, or the end of a delay. So releasing
// two calls commits them in order, before Release returns. A provider with a
// goroutine per call would leave the order of the ledger to the scheduler.
type Provider struct {
	clock   clock.Clock
	honours bool
	observe func(Event)

	running  context.Context // ends on Close, and with it every delay
	stop     context.CancelFunc
	delaying sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	script   []Behaviour
	standard Behaviour
	holdNext int
	open     map[int]*call
	held     []*call // by number
	ledger   []Charge
	counts   Counts
	keys     map[string]*saved
	changed  chan struct{} // closed at the next change; nil if nobody waits for one
}

// New starts a provider. Close it.
func New(opts Options) *Provider {
	p := &Provider{
		clock:    opts.Clock,
		honours:  opts.HonoursKeys,
		observe:  opts.Observe,
		standard: opts.Default,
		open:     map[int]*call{},
		keys:     map[string]*saved{},
	}
	if p.clock == nil {
		p.clock = clock.Real{}
	}
	if p.observe == nil {
		p.observe = func(Event) {}
	}
	p.running, p.stop = context.WithCancel(context.Background())
	return p
}

// Script adds the behaviours of the next calls, in order of arrival. Every call
// that arrives takes one, replays and refusals too; when none is left, the
// default holds again.
func (p *Provider) Script(b ...Behaviour) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = append(p.script, b...)
}

// SetDefault changes what calls do for which the script has nothing. Calls that
// have arrived keep the behaviour that they have.
func (p *Provider) SetDefault(b Behaviour) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.standard = b
}

// HoldNext holds the next n calls before they commit, whatever else their
// behaviour says. It replaces an earlier number: HoldNext(0) takes it back.
func (p *Provider) HoldNext(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holdNext = max(n, 0)
}

// nextBehaviour takes what the call that arrives now is to do.
func (p *Provider) nextBehaviour() Behaviour {
	b := p.standard
	if len(p.script) > 0 {
		b, p.script = p.script[0], p.script[1:]
	}
	if p.holdNext > 0 {
		p.holdNext--
		b.Hold = true
	}
	return b
}

// Open is the number of calls that have arrived and are not over. A call whose
// caller has left is open until it is done.
func (p *Provider) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// Counts of all calls so far. A failure is a call that ended in an error, for
// whatever reason, refusals among them.
func (p *Provider) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Close ends every open call with ErrClosed and returns when nothing of the
// provider runs any more. A call that has not committed never will. Counts and
// ledger can still be read, and do not change again. Closing twice is harmless.
func (p *Provider) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.stop()
		p.held = nil
		for _, c := range p.byNumber() {
			p.finish(c, Charge{}, ErrClosed)
		}
		p.change()
	}
	p.mu.Unlock()
	p.delaying.Wait()
}
