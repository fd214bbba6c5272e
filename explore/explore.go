// Package explore runs a few clients of a coordinator through every order of their
// steps: store operations, provider calls, the clock, faults and crashes. It either
// says "complete, no violation" within stated bounds, or gives the smallest schedule
// that breaks an invariant, which can be replayed.
//
// Coordinators stay untouched: they block only through ports, and each port
// operation is a step before which its client parks. The package refuses
// coordinators that it cannot control (a goroutine of their own, a wait outside the
// ports): see [Admit]; and it never says "complete" of what it has cut short.
package explore

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/target"
)

// Unbounded is a number of preemptions that nothing bounds.
const Unbounded = -1

// Defaults of a Config.
const (
	DefaultClients = 2
	// DefaultMaxStates is how many states are remembered at most, 32 bytes each
	// with the map's own.
	DefaultMaxStates = 8 << 20
)

// Config of an exploration.
type Config struct {
	Entry       impl.Entry
	Coordinator reservation.Config
	HonoursKeys bool // the provider answers a second call with one key by the first one's charge

	Clients     int  // 0 means DefaultClients
	Payloads    bool // the last client sends another amount under the same key
	Faults      int
	Crashes     int
	Expiries    int // leases that may run out
	Preemptions int // Unbounded, or the most

	MaxRuns   int           // 0: no bound
	MaxTime   time.Duration // 0: no bound
	MaxStates int           // 0 means DefaultMaxStates

	// What makes the search smaller, each to be switched off.
	NoVisited, NoSymmetry, NoSleep bool

	Progress func(Progress)        // may be nil
	lanes    []*lane               // coroutines, used again by each run
	attempts []target.Attempt      // what each client sends
	requests []idempotency.Request // the same, as its coordinator gets it

	// Back makes another store than the model; nil is the model.
	Back func(now func() time.Time) (Backing, error)
}

// Progress is how far a search is.
type Progress struct {
	Level  int
	Runs   int
	States int
}

func (c *Config) clients() int {
	if c.Clients > 0 {
		return c.Clients
	}
	return DefaultClients
}

// sends are the clients' requests: one key, and one payload unless Payloads.
func (c *Config) sends() []target.Attempt {
	var all []target.Attempt
	for i := range c.clients() {
		a := target.Attempt{Number: i + 1, Client: string(rune('A' + i)), Worker: string(rune('A' + i)),
			Operation: "charge", Key: "order-42", Ref: "r1", Amount: 100}
		if c.Payloads && i == c.clients()-1 {
			a.Ref, a.Amount = "r2", 5
		}
		all = append(all, a)
	}
	return all
}

// alike: the two clients send the same.
func (c *Config) alike(i, j int) bool { return !c.Payloads || j < c.clients()-1 && i < c.clients()-1 }

func (c *Config) backing(w *world) Backing {
	if c.Back == nil {
		return modelOf(w)
	}
	b, err := c.Back(func() time.Time { return epoch.Add(w.now) })
	if err != nil {
		w.broken = err
		return modelOf(w)
	}
	return b
}

// policy when the store is down: what is asked for, or the coordinator's own.
func (c *Config) policy() reservation.Policy {
	if c.Coordinator.StoreDown != "" {
		return c.Coordinator.StoreDown
	}
	return c.Entry.Policy
}

func (c *Config) maxStates() int {
	if c.MaxStates > 0 {
		return c.MaxStates
	}
	return DefaultMaxStates
}

// check refuses what cannot be explored.
func (c *Config) check() error {
	c.Coordinator.Lease = cmp.Or(c.Coordinator.Lease, reservation.DefaultLease)
	c.Coordinator.Retention = cmp.Or(c.Coordinator.Retention, reservation.DefaultRetention)
	switch {
	case c.Entry.New == nil:
		return fmt.Errorf("explore: no coordinator")
	case c.Entry.Unseen:
		return fmt.Errorf("explore: %s has a store client of its own: its steps are seen by nobody", c.Entry.Name)
	case c.clients() > 26:
		return fmt.Errorf("explore: %d clients; more than 26 have no names", c.clients())
	case c.Faults < 0, c.Crashes < 0, c.Expiries < 0, c.Preemptions < Unbounded:
		return fmt.Errorf("explore: a budget is negative")
	}
	return c.prepare()
}

// prepare makes once what every run needs.
func (c *Config) prepare() error {
	c.attempts, c.requests = c.sends(), nil
	for _, a := range c.attempts {
		fp, err := c.fingerprint(a)
		if err != nil {
			return fmt.Errorf("explore: %w", err)
		}
		c.requests = append(c.requests, idempotency.Request{Tenant: a.Tenant, Operation: a.Operation, Key: a.Key, Fingerprint: fp})
	}
	return nil
}

func (c *Config) fingerprint(a target.Attempt) (idempotency.Fingerprint, error) {
	if p := c.Entry.Prepare; p != nil {
		return p(a.Payload(), target.Fields())
	}
	return target.Fingerprint(a)
}

// Result of an exploration.
type Result struct {
	Complete bool
	Why      string // not complete: because of what
	Levels   []Level
	Runs     int // schedules that were run
	Steps    int
	States   int
	Took     time.Duration
	// Outcomes are the terminal outcomes, each once, in order of their text.
	Outcomes []string
	// Found are the invariants that some schedule violates, the first, and so
	// smallest, schedule of each.
	Found []Violation
}

// Level is what was searched completely.
type Level struct {
	Cost      int // preemptions, faults, crashes and expiries, all told; -1: unbounded preemptions
	Complete  bool
	Runs      int
	Violating int // runs that violated something
}

// Violation is an invariant, and a schedule that violates it.
type Violation struct {
	Invariant string
	Because   string
	Schedule  []Step
	choices   []Choice
}

// Explore searches. The context ends it early; then it is not complete.
func Explore(ctx context.Context, cfg Config) (Result, error) {
	if err := cfg.check(); err != nil {
		return Result{}, err
	}
	s := newSearch(ctx, &cfg)
	began := time.Now()
	defer cfg.free()
	err := s.deepen()
	s.result.Took = time.Since(began)
	return s.result, err
}
