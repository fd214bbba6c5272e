package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/target"
	"github.com/idemrace/idemrace/target/effects"
	"github.com/idemrace/idemrace/target/hook"
	"github.com/idemrace/idemrace/target/httptarget"
)

// serviceStage is where a cell of a service is played. The service lives longer
// than the cell: what the cell disturbs, it mends.
type serviceStage struct {
	*script
	svc   *Service
	names *httptarget.Names
	cell  *httptarget.Cell
	quit  func() // lets other cells have the service
	hurt  bool   // workers were killed or frozen
	rows  map[string]bool

	burst []int // the attempts of the largest that left together

	mu   sync.Mutex
	left map[int]time.Time // when an attempt's request had left completely
}

var _ scene = (*serviceStage)(nil)

// settled is how long nothing must have happened for everybody to be where it will
// be: far longer than a handler takes from its socket to its store, or to the
// provider.
const settled = 100 * time.Millisecond

func newServiceStage(ctx context.Context, cfg Config, p pair) (st *serviceStage, err error) {
	svc := p.service
	st = &serviceStage{script: newScript(ctx, p), svc: svc, quit: svc.enter(alone(p.scenario)), left: map[int]time.Time{}, rows: map[string]bool{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close(ctx))
			st = nil
		}
	}()
	st.config = reservation.Config{Lease: svc.profile.Lease, Retention: svc.profile.Retention}
	st.hide, st.proxy = svc.cfg.Hide, svc.proxy
	st.counted = st.countCommands(alone(p.scenario))
	st.calm = calm{settled, st.still}
	st.rec = history.NewRecorder(serviceHeader(cfg, p), clock.Real{})
	set := p.scenario.Setting
	st.provider = fakeprovider.New(fakeprovider.Options{HonoursKeys: set.HonoursKeys || svc.cfg.Service.Provider.HonoursKeys,
		Default: set.Provider, Observe: history.Provider(st.rec)})
	st.provider.Script(set.Script...)
	st.names = httptarget.NewNames(svc.run, fmt.Sprint(svc.cells.Add(1)), svc.amounts)
	svc.desk.add(st.names, st.provider)
	if err := svc.wellAgain(ctx); err != nil {
		return st, err
	}
	st.cell = svc.target.In(st.names, nil)
	st.cell.Watch(st.hasLeft)
	st.target = st.cell
	return st, st.setUp(ctx, p.scenario)
}

// countCommands counts what the service sends to its store from now on, if the
// cell has it alone: of cells beside each other nobody knows whose a command is.
func (st *serviceStage) countCommands(alone bool) func() int {
	if st.proxy == nil || !alone {
		return func() int { return 0 }
	}
	before := st.proxy.Commands()
	return func() int { return st.proxy.Commands() - before }
}

// setUp runs the setup steps of every logical operation that the scenario has.
func (st *serviceStage) setUp(ctx context.Context, s scenarios.Scenario) error {
	for _, ref := range s.Refs() {
		vars, err := st.svc.hooks.Run(ctx, st.svc.cfg.Service.Setup, hook.PerRef, st.svc.hookData(st.names.Ref(ref)))
		if err != nil {
			return fmt.Errorf("setup: %w", err)
		}
		st.cell.SetVars(ref, vars)
	}
	return nil
}

// serviceHeader tells the judge what the profile promises, and no more.
func serviceHeader(cfg Config, p pair) history.Header {
	prof, set := p.service.profile, p.scenario.Setting
	h := history.Header{
		Schema: history.Schema, Scenario: p.scenario.Name, Target: p.entry.Name, Seed: cfg.Seed,
		Policy: prof.StoreDown, LeaseMS: prof.Lease.Milliseconds(), RetentionMS: prof.Retention.Milliseconds(),
		HonoursKeys: set.HonoursKeys || p.service.cfg.Service.Provider.HonoursKeys, Marker: prof.ReplayMarker != "",
		Releases: prof.Errors == httptarget.ErrorsReleased, Remote: true,
	}
	for _, c := range countable(p) {
		switch {
		case c.Name == "execution":
			c.Name = "provider-call" // nobody sees the service's own code run
		case c.Name == "overlap" && waitsForLease(p.scenario):
			continue // whoever ends its call before its lease does has answered by then
		}
		h.Controls = append(h.Controls, c)
	}
	if p.service.serialises && overlaps(h.Controls) {
		h.Controls = append(h.Controls, history.Control{Name: "parallel-calls", Min: 1})
	}
	return h
}

func overlaps(controls []history.Control) bool {
	for _, c := range controls {
		if c.Name == "overlap" {
			return true
		}
	}
	return false
}

func (st *serviceStage) hasLeft(attempt int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.left[attempt] = time.Now()
}

// Send also remembers the largest burst.
func (st *serviceStage) Send(attempts ...target.Attempt) error {
	if len(attempts) > len(st.burst) {
		st.burst = nil
		for i := range attempts {
			st.burst = append(st.burst, st.attempts+1+i)
		}
	}
	return st.script.Send(attempts...)
}

// spread is how far apart the largest burst's requests left, zero if there was none.
func (st *serviceStage) spread() time.Duration {
	if len(st.burst) < 2 {
		return 0
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	var first, last time.Time
	for _, n := range st.burst {
		at, ok := st.left[n]
		if !ok {
			continue
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return last.Sub(first)
}

// witness adds how far apart a burst left, and what the workers printed if not all
// is well.
func (st *serviceStage) witness(c *results.Cell) {
	c.SpreadMS = ms(st.spread())
	if c.Status == results.Judged && c.AsExpected {
		return
	}
	for _, name := range st.svc.crew.Names() {
		if out := st.svc.crew.Output(name, outputMax); out != "" {
			c.Workers = append(c.Workers, results.Worker{Name: name, Output: st.hide(out)})
		}
	}
}

// outputMax is how much of a worker's output stands in a report.
const outputMax = 4 << 10

// still: every request under way has left its client.
func (st *serviceStage) still(events []history.Event, _ int) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for n := range underWay(events) {
		if st.left[n].IsZero() {
			return false
		}
	}
	return true
}

// Idle: nobody waits for an answer, no provider call is open, and nothing has
// happened for as long as the configuration says. A service executes requests long
// after their client has left.
func (st *serviceStage) Idle(ctx context.Context) error {
	if err := st.Join(ctx); err != nil {
		return err
	}
	for seen := -1; ; {
		if err := st.provider.AwaitQuiet(ctx); err != nil {
			return err
		}
		now := len(st.rec.History().Events)
		if now == seen {
			return nil
		}
		seen = now
		if err := st.Pass(ctx, st.svc.quiet()); err != nil {
			return err
		}
	}
}

// leaseSlack is what a lease may take longer than it says, on a loaded machine.
const leaseSlack = 250 * time.Millisecond

// EndLeases lets the declared lease go by: nobody else's records can be commanded.
func (st *serviceStage) EndLeases(ctx context.Context) (int, error) {
	if st.svc.profile.Lease <= 0 {
		return 0, fmt.Errorf("%w: end a lease that the profile does not declare", scenarios.ErrUnable)
	}
	return 1, st.Pass(ctx, st.svc.profile.Lease+leaseSlack)
}

// SetExpiry cannot be done to somebody else's records.
func (st *serviceStage) SetExpiry(context.Context, time.Duration) (int, error) {
	return 0, fmt.Errorf("%w: end a retention that is not ours", scenarios.ErrUnable)
}

func (st *serviceStage) Kill(worker string) error {
	st.hurt = true
	return st.svc.crew.Kill(worker)
}

// Pause freezes at once; to count calls one would have to see them.
func (st *serviceStage) Pause(worker string, afterCalls int) error {
	if afterCalls > 0 {
		return fmt.Errorf("%w: count a worker's store calls", scenarios.ErrUnable)
	}
	st.hurt = true
	if err := st.svc.crew.Pause(worker); err != nil {
		return err
	}
	st.Fault("worker-paused", worker, 1, 0) // a stopped process stands still wherever it is
	return nil
}

func (st *serviceStage) Resume(worker string) error { return st.svc.crew.Resume(worker) }

// Inspect has nothing to look at: what the records mean is the service's own affair.
func (st *serviceStage) Inspect(context.Context) error { return nil }

// HangUp also waits until the service can have noticed: what it does when its client
// has gone is what such scenarios are about.
func (st *serviceStage) HangUp(client string) error {
	if err := st.script.HangUp(client); err != nil {
		return err
	}
	return st.Pass(st.clients, settled)
}

// Settle waits until everything rests, and reads the rows if effects are rows.
func (st *serviceStage) Settle(ctx context.Context) error {
	if err := st.Idle(ctx); err != nil {
		return err
	}
	if st.svc.source != nil {
		if err := st.count(ctx); err != nil {
			return err
		}
	}
	st.rec.Record(history.Event{Kind: history.Settled})
	return nil
}

// count enters the rows of this cell into the history, as charges.
func (st *serviceStage) count(ctx context.Context) error {
	rows, err := st.svc.source.Rest(ctx)
	if err != nil {
		return fmt.Errorf("effects: %w", err)
	}
	for _, r := range rows {
		ref, amount, ok := st.whose(r)
		if !ok || st.rows[r.ID] {
			continue
		}
		st.rows[r.ID] = true
		st.rec.Record(history.Event{Kind: history.Commit, Charge: r.ID, Ref: ref, Effect: history.DefaultEffect, Amount: amount})
	}
	return nil
}

func (st *serviceStage) whose(r effects.Row) (ref string, amount int64, ok bool) {
	if st.svc.amounts != nil {
		return st.names.OfAmount(r.Amount)
	}
	ref, ok = st.names.OfRef(r.Ref)
	return ref, r.Amount, ok
}

// close mends what the cell has disturbed, and lets the next one in.
func (st *serviceStage) close(ctx context.Context) error {
	var errs []error
	_ = st.Heal()
	if st.proxy != nil {
		errs = append(errs, st.proxy.Up())
	}
	st.leave()
	if st.provider != nil {
		st.provider.Close()
	}
	if st.hurt {
		mending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeService)
		defer cancel()
		errs = append(errs, st.svc.crew.Mend(mending))
	}
	st.open.Wait()
	if st.rec != nil {
		st.rec.Close()
	}
	st.quit()
	return errors.Join(errs...)
}
