package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/scenarios"
)

// Histories are a run's, by results.CellName.
type Histories map[string]*history.History

// pair is what becomes a cell.
type pair struct {
	scenario scenarios.Scenario
	entry    impl.Entry // of a coordinator in this process, or in a service's place
	service  *Service   // nil for a coordinator
}

// Run runs every scenario on every target. When ctx ends, what has ended by
// then is returned, cells under way are marked as interrupted, and nothing is
// left behind: Run returns only when every goroutine, connection and key of its
// own is gone.
func Run(ctx context.Context, cfg Config) (results.Run, Histories) {
	started := time.Now()
	run := results.Run{
		Schema: results.Schema, Seed: cfg.Seed, Started: started.UTC(),
		Tool:  results.Tool{Version: cfg.Version, Go: runtime.Version()},
		Store: results.Store{Kind: cfg.Backend.Kind(), Version: cfg.Backend.Version(), Address: cfg.Backend.Address()},
	}
	var pairs []pair
	for _, s := range cfg.Scenarios {
		for _, e := range cfg.Targets {
			pairs = append(pairs, pair{scenario: s, entry: e})
		}
		for _, svc := range cfg.Services {
			pairs = append(pairs, pair{scenario: s, entry: svc.entry(), service: svc})
		}
	}
	cells, histories := play(ctx, cfg, pairs)
	run.Cells, run.LeftOut = leftOut(cells)
	run.Interrupted = ctx.Err() != nil
	run.DurationMS = ms(time.Since(started))
	for _, svc := range cfg.Services {
		run.Observed = append(run.Observed, svc.observe(run.Cells)...)
	}
	run.Summary = results.Summarise(run.Cells)
	return run, histories
}

// play runs the pairs, bounded, and returns their cells in the pairs' order.
// A store that dies or no longer answers ends the run: every later answer would be about
// that, and not about the target.
func play(ctx context.Context, cfg Config, pairs []pair) ([]results.Cell, Histories) {
	ctx, giveUp := context.WithCancelCause(ctx)
	w := &watch{backend: cfg.Backend}
	var watching sync.WaitGroup
	defer watching.Wait()
	defer giveUp(nil)
	watching.Go(func() { w.died(ctx, giveUp) })
	watching.Go(func() { w.silent(ctx, giveUp) })
	p := &player{cfg: cfg, watch: w, began: time.Now(), prefix: runPrefix(), cells: make([]results.Cell, len(pairs)), histories: Histories{}}
	alone, asleep, others, services := sorted(pairs)
	p.play(ctx, alone, cfg.parallel())
	var beside sync.WaitGroup
	beside.Go(func() { p.play(ctx, asleep, cfg.sleepers()) })
	p.play(ctx, others, cfg.parallel())
	beside.Wait()
	for _, svc := range cfg.Services {
		p.playService(ctx, services[svc])
	}
	return p.cells, p.histories
}

// player collects the cells of a run.
type player struct {
	cfg    Config
	watch  *watch
	prefix string
	began  time.Time

	mu        sync.Mutex
	done      int
	cells     []results.Cell
	histories Histories
}

// play runs one phase, so many cells at once, and returns when it is over.
func (p *player) play(ctx context.Context, phase []placed, atOnce int) {
	places := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	if p.cfg.Budget > 0 {
		phase = byWorth(phase)
	}
	for _, next := range phase {
		places <- struct{}{}
		if p.late(next) {
			<-places
			continue
		}
		running.Go(func() {
			defer func() { <-places }()
			p.add(ctx, next.at, next.pair)
		})
	}
	running.Wait()
}

// late: the budget has no time left for the cell; it is remembered by its title alone.
func (p *player) late(next placed) bool {
	if p.cfg.Budget <= 0 || time.Since(p.began) <= p.cfg.Budget {
		return false
	}
	p.cells[next.at].Title = next.scenario.Name + " on " + next.entry.Name
	return true
}

func (p *player) add(ctx context.Context, at int, next pair) {
	cell, h := p.playAgain(ctx, next)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cells[at], p.done = cell, p.done+1
	if h != nil {
		p.histories[results.CellName(cell)] = h
	}
	if p.cfg.Progress != nil {
		p.cfg.Progress(Progress{Done: p.done, Of: len(p.cells), Cell: cell})
	}
}

// reruns is how often a service's cell that proved nothing is played again. What was
// violated once stays violated: no rerun turns it green.
const reruns = 2

func (p *player) playAgain(ctx context.Context, next pair) (results.Cell, *history.History) {
	cell, h := playCell(ctx, p.cfg, p.watch, p.prefix, next)
	for n := 0; n < reruns && next.service != nil && provedNothing(cell) && ctx.Err() == nil; n++ {
		cell, h = playCell(ctx, p.cfg, p.watch, p.prefix, next)
	}
	if cell.Status == results.CouldNotRun && strings.HasPrefix(cell.Why, tooShort) {
		cell.Status = results.NotApplicable // three times: it is the scenario, and not this machine
	}
	return cell, h
}

func provedNothing(c results.Cell) bool {
	return c.Status == results.CouldNotRun || c.Status == results.Judged && c.Verdict == string(check.Inconclusive)
}

// placed is a pair and its place in the document.
type placed struct {
	pair
	at int
}

// sorted tells apart how cells use a machine. Those with tight margins come
// first and by themselves: the load of others must not be taken for the target's
// slowness. Those that last by themselves mostly sleep, and have wide margins;
// the longest begin first, beside all others. A service's cells come when all others
// are over.
func sorted(pairs []pair) (alone, asleep, others []placed, services map[*Service][]placed) {
	services = map[*Service][]placed{}
	for i, p := range pairs {
		switch set := p.scenario.Setting; {
		case p.service != nil:
			services[p.service] = append(services[p.service], placed{p, i})
		case set.Alone:
			alone = append(alone, placed{p, i})
		case set.Takes > 0:
			asleep = append(asleep, placed{p, i})
		default:
			others = append(others, placed{p, i})
		}
	}
	slices.SortStableFunc(asleep, func(a, b placed) int {
		return cmp.Compare(b.scenario.Setting.Takes, a.scenario.Setting.Takes)
	})
	return alone, asleep, others, services
}

// runPrefix is random and not seeded: two runs with one seed may share a store.
func runPrefix() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return "idemrace:" + hex.EncodeToString(b[:]) + ":"
}

func ms(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// sayPrefix makes a cell's prefix readable in redis-cli MONITOR.
func sayPrefix(run string, p pair) string {
	return run + strings.ReplaceAll(p.scenario.Name+"."+p.entry.Name, ":", "_") + ":"
}
