// Package explore runs a few clients of a coordinator through every order of their
// steps: store operations, provider calls, the clock, faults and crashes. It either
// says "complete, no violation" within stated bounds, or gives the smallest schedule
// that breaks an invariant, which can be replayed.
//
//   - [Admit] refuses coordinators that cannot be controlled: a goroutine of their
//     own, a wait outside the ports. Call it first.
//   - [Explore] searches: every schedule ([Exhaustive]), or many ([Random], [PCT]).
//   - [Schedule] is one schedule by labels; [Encode] and [Decode] make it a token.
//   - [Replay] makes a schedule again, and says what it breaks, or that it is fixed,
//     or, with [ErrDiverged], where it no longer fits.
//   - [Minimise] takes everything out of a schedule that is not needed, and
//     [NearestPassing] names the two steps in whose order the fault lies.
//   - [Tell] is a schedule as a [Story]: lanes, a sentence, Mermaid, JSON.
//   - [NewWalk] moves step by step, forwards and back, for a person who chooses.
//
// Coordinators stay untouched: they block only through ports, and each port
// operation is a step before which its client parks. A command to the store is one
// step, a provider call is two (it arrives, it commits); a lease's renewal is the
// store's own step, at the last moment before the lease ends. Each client sends one
// request, and has a worker of its own.
//
// What is judged: of each schedule its whole history, by [check.Judge]; but schedules
// that end in one state are judged once. The state holds all that a client was told,
// what lies in the store, the ledger, the clock, and, at each request, call, charge,
// answer, death and moment of the clock, how far every other client was: the order
// that laws speak of. That no verdict depends on more is shown by a test, which
// judges every schedule of many configurations by itself.
//
// The package never says "complete" of what it has cut short.
package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
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
	MaxClients     = 26 // more have no letters
	// DefaultMaxStates is how many states are remembered at most, some 40 bytes each.
	DefaultMaxStates = 8 << 20
)

// Strategy is how schedules are chosen.
type Strategy string

// The strategies. Only an exhaustive search can be complete.
const (
	Exhaustive Strategy = "exhaustive" // every schedule within the bounds, cheap ones first
	Random     Strategy = "random"     // any possible step, each as likely as another
	PCT        Strategy = "pct"        // clients by random priorities, which change at Depth random points
)

// Strategies lists all strategies.
func Strategies() []Strategy { return []Strategy{Exhaustive, Random, PCT} }

// Config of an exploration.
type Config struct {
	Entry       impl.Entry
	Coordinator reservation.Config
	HonoursKeys bool // the provider answers a second call with one key by the first one's charge

	Clients     int  // 0 means DefaultClients
	Payloads    bool // the last client sends another amount under the same key
	Faults      int  // commands, replies and provider calls that may fail
	Crashes     int  // workers that may die
	Expiries    int  // how often the clock may go on though somebody could move: leases run out, patience ends
	HangUps     int  // clients that may leave
	Preemptions int  // Unbounded, or the most: a client is overtaken though it could move

	Strategy Strategy // "" means Exhaustive
	Seed     int64    // of Random and PCT
	Depth    int      // of PCT; 0 means 3

	MaxRuns   int           // 0: no bound for Exhaustive, DefaultRuns for the others
	MaxTime   time.Duration // 0: no bound
	MaxStates int           // 0 means DefaultMaxStates
	Cores     int           // 0 means all; the result is the same with any number. Exhaustive judges on those that it does not search with

	// What makes the search smaller, each to be switched off. Symmetry takes alike
	// clients for each other; an Exhaustive search makes some schedules with their roles
	// changed, and where those differ it begins again without it.
	NoVisited, NoSymmetry, NoSleep bool

	Progress func(Progress) // may be nil

	// Back makes a store beside the model, on which each operation is made too; nil:
	// the model alone. It is called for each exploration and each replay, and may give
	// the same store each time: everything under its prefix is deleted before a run.
	Back func() (Real, error)

	real         Real                          // what Back has made
	lanes        []*lane                       // coroutines, used again by each run
	attempts     []target.Attempt              // what each client sends
	varied       bool                          // they were made with two payloads
	requests     []idempotency.Request         // the same, as its coordinator gets it
	fingerprints []string                      // of what was really sent, for the judge
	rooted       int                           // the first so many choices are given; see prefix
	visitor      func(*actor)                  // called at each port, by the dry run of Admit
	finished     func(*world)                  // called at each schedule's end, by tests
	excused      func(lacked, violated string) // called by tests where brings excuses
}

// Progress is how far a search is.
type Progress struct {
	Level  int // Unbounded: preemptions are
	Runs   int
	States int
}

// Result is what a search has found.
type Result struct {
	Complete bool   // everything within the bounds was searched
	Why      string // why not
	Levels   []Level
	Runs     int // schedules
	Steps    int
	States   int // most that were remembered at a time
	Judged   int // ways of ending
	// Unlike: clients that send the same do not do the same, in whatever order they
	// come: tokens are compared, or workers differ. So NoSymmetry was set.
	Unlike   bool
	Took     time.Duration
	Outcomes []string // how schedules ended, in words, sorted
	// Found are the invariants that some schedule violates, the first, and so
	// cheapest, schedule of each. One that is guaranteed here and not there is in it
	// twice.
	Found []Violation
}

// Guaranteed are the violations of what the coordinator says that it keeps.
func (r Result) Guaranteed() []Violation {
	var all []Violation
	for _, v := range r.Found {
		if v.Guaranteed {
			all = append(all, v)
		}
	}
	return all
}

// Level is what was searched completely.
type Level struct {
	Cost      int // preemptions, faults, crashes, expiries and departures, all told; Unbounded: preemptions without a bound
	Complete  bool
	Runs      int
	States    int
	Violating int // runs that violated something
}

// Violation is an invariant, and a schedule that violates it.
type Violation struct {
	Invariant string
	// Guaranteed: the coordinator says that it keeps it under what this schedule does
	// to it. Not guaranteed is expected.
	Guaranteed bool
	Because    string
	Schedule   Schedule
}

// Explore searches. The context ends it early; then it is not complete. Errors: a
// configuration that is refused, ErrEndless, ErrStoresDiffer, or the real store's.
func Explore(ctx context.Context, cfg Config) (Result, error) {
	if err := cfg.check(); err != nil {
		return Result{}, err
	}
	began := time.Now()
	var r Result
	var err error
	if cfg.Strategy == Exhaustive {
		r, err = exhaust(ctx, cfg)
	} else {
		r, err = sample(ctx, cfg)
	}
	r.Took = time.Since(began)
	return r, err
}

// check refuses what cannot be explored, and fills in what is not set.
func (c *Config) check() error {
	c.Coordinator.Lease = cmp.Or(c.Coordinator.Lease, reservation.DefaultLease)
	c.Coordinator.Retention = cmp.Or(c.Coordinator.Retention, reservation.DefaultRetention)
	c.Clients = cmp.Or(c.Clients, DefaultClients)
	c.Strategy = cmp.Or(c.Strategy, Exhaustive)
	c.Cores = min(cmp.Or(c.Cores, runtime.GOMAXPROCS(0)), runtime.GOMAXPROCS(0))
	if c.Back != nil || c.visitor != nil || c.finished != nil {
		c.Cores = 1 // there is one store, and one who looks
	}
	switch {
	case c.Entry.New == nil:
		return errors.New("explore: no coordinator")
	case c.Entry.Unseen:
		return fmt.Errorf("explore: %w: %s has a store client of its own: its steps are seen by nobody", ErrUncontrollable, c.Entry.Name)
	case c.Clients < 1 || c.Clients > MaxClients:
		return fmt.Errorf("explore: %d clients; from 1 to %d can be named", c.Clients, MaxClients)
	case c.Faults < 0, c.Crashes < 0, c.Expiries < 0, c.HangUps < 0, c.Preemptions < Unbounded:
		return errors.New("explore: a budget is negative")
	case c.Strategy != Exhaustive && c.Strategy != Random && c.Strategy != PCT:
		return fmt.Errorf("explore: no strategy %q; there are %q", c.Strategy, Strategies())
	}
	return c.prepare()
}

// prepare makes once what every run needs.
func (c *Config) prepare() error {
	if len(c.attempts) == c.Clients && c.varied == c.Payloads {
		return nil
	}
	c.varied = c.Payloads
	c.attempts, c.requests, c.fingerprints = c.sends(), nil, nil
	for _, a := range c.attempts {
		fp, err := c.fingerprint(a)
		if err != nil {
			return fmt.Errorf("explore: %w", err)
		}
		real, err := target.Fingerprint(a)
		if err != nil {
			return fmt.Errorf("explore: %w", err)
		}
		c.fingerprints = append(c.fingerprints, real.String())
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

// sends are the clients' requests: one key, and one payload unless Payloads.
func (c *Config) sends() []target.Attempt {
	var all []target.Attempt
	for i := range c.Clients {
		name := string(rune('A' + i))
		a := target.Attempt{Number: i + 1, Client: name, Worker: name, Operation: "charge", Key: "order-42", Ref: "r1", Amount: 100}
		if c.Payloads && i == c.Clients-1 {
			a.Ref, a.Amount = "r2", 5
		}
		all = append(all, a)
	}
	return all
}

// alike: the two clients send the same.
func (c *Config) alike(i, j int) bool {
	return !c.Payloads || j < c.Clients-1 && i < c.Clients-1
}

// policy when the store is down: what is asked for, or the coordinator's own.
func (c *Config) policy() reservation.Policy { return cmp.Or(c.Coordinator.StoreDown, c.Entry.Policy) }

func (c *Config) maxStates() int { return cmp.Or(c.MaxStates, DefaultMaxStates) }

func (c *Config) budget() budget {
	b := budget{faults: c.Faults, crashes: c.Crashes, expiries: c.Expiries, hangUps: c.HangUps, preemptions: c.Preemptions}
	if b.preemptions == Unbounded {
		b.preemptions = free
	}
	return b
}
