// Package runner turns scenarios and targets into a run: build, wrap, drive,
// record, judge. It is the only room that joins everything.
//
// Each cell is isolated: a key prefix, a provider and a fault proxy of its own.
// The package refuses to print, to exit and to read the environment; it says how
// far it is through [Config.Progress].
package runner

import (
	"runtime"
	"time"

	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// DefaultTimeout is a cell's time: far beyond what any scenario takes on a
// stalled machine, and short enough for a person to wait for.
const DefaultTimeout = 30 * time.Second

// DefaultParallel is how many cells run at once. Cells mostly wait, so there may
// be more of them than cores.
func DefaultParallel() int { return 4 * runtime.GOMAXPROCS(0) }

// Config of a run.
type Config struct {
	Scenarios []scenarios.Scenario
	Targets   []impl.Entry
	Services  []*Service // opened, and closed by the caller
	Backend   *backend.Backend
	Parallel  int           // cells at once; 0 means DefaultParallel
	Sleepers  int           // cells at once of scenarios that last by themselves; 0 means eight for each of Parallel
	Timeout   time.Duration // per cell; 0 means DefaultTimeout
	Budget    time.Duration // no cell begins later; what finds most in a second goes first. 0: no bound
	Seed      int64         // of owner tokens; in every record
	Version   string        // of the tool, for the document
	// Coordinator is what the user wants of every coordinator; a scenario's own
	// setting goes before it.
	Coordinator reservation.Config
	// Progress is told of every cell that has ended, one call at a time; may be nil.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Done, Of int
	Cell     results.Cell
}

func (c Config) parallel() int {
	if c.Parallel > 0 {
		return c.Parallel
	}
	return DefaultParallel()
}

// sleepers are more than the others, since they hardly load the machine.
func (c Config) sleepers() int {
	if c.Sleepers > 0 {
		return max(c.Sleepers, c.parallel())
	}
	return sleepersPerPlace * c.parallel()
}

// sleepersPerPlace is how many cells that sleep take the place of one that works.
const sleepersPerPlace = 8

func (c Config) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return DefaultTimeout
}
