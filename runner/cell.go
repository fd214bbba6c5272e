package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/scenarios"
)

var errInterrupted = errors.New("interrupted")

// playCell runs one scenario on one target and judges it.
func playCell(ctx context.Context, cfg Config, w *watch, run string, p pair) (results.Cell, *history.History) {
	cell := results.Cell{Scenario: p.scenario.Name, Title: p.scenario.Title, Target: p.entry.Name,
		AtLeastOnce: p.scenario.AtLeastOnce, Service: p.service != nil,
		Attempts: []results.Attempt{}, Charges: []results.Charge{}, Findings: []results.Finding{}, Controls: []results.Control{}}
	if why := unable(cfg, p); why != "" {
		return notRun(cell, results.NotApplicable, why), nil
	}
	if ctx.Err() != nil {
		return notRun(cell, results.CouldNotRun, stopped(ctx)), nil
	}
	began, missed := time.Now(), w.missed.Load()
	st, err := newScene(ctx, cfg, run, p)
	if err != nil {
		return notRun(cell, results.CouldNotRun, cfg.Backend.Hide(unmade(ctx, w, err))), nil
	}
	sc := st.base()
	err = sc.play(ctx, st, cfg.timeout())
	emptied := sc.sentinel.relieve(ctx)
	if closing := st.close(ctx); err == nil {
		err = closing
	}
	h := looked(sc.rec.History())
	cell.DurationMS = ms(time.Since(began))
	cell.StoreCommands = sc.commands(h)
	fill(&cell, h)
	if why := failed(ctx, w, sc, h, errors.Join(emptied, err)); why != "" {
		return notRun(cell, results.CouldNotRun, sc.hide(why)), h
	}
	cell = verdict(cell, h, p, sc, err, w.missed.Load() > missed)
	if w, ok := st.(witness); ok {
		w.witness(&cell)
	}
	return cell, h
}

// witness is a scene that has more to tell of a cell than its history.
type witness interface{ witness(c *results.Cell) }

// newScene is where the cell is played.
func newScene(ctx context.Context, cfg Config, run string, p pair) (scene, error) {
	if p.service != nil {
		return newServiceStage(ctx, cfg, p)
	}
	return newStage(ctx, cfg, run, p)
}

// unmade is why there is no stage.
func unmade(ctx context.Context, w *watch, err error) string {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	if errors.Is(err, errStore) {
		return w.explain(err.Error())
	}
	return err.Error()
}

// failed says why a cell that was played could not run, or "". A cell that was not
// finished in time did run.
func failed(ctx context.Context, w *watch, st *script, h *history.History, err error) string {
	var late *lateError
	switch away := away(h.Events, st.entry.Unseen); {
	case ctx.Err() != nil:
		return stopped(ctx)
	case errors.Is(err, errEmptied):
		return errEmptied.Error()
	case away != "":
		return w.explain(away)
	case errors.Is(err, errStore):
		return w.explain(err.Error())
	case err != nil && !errors.As(err, &late):
		return err.Error()
	}
	return ""
}

// verdict judges, unless the store was stalled and the verdict may be about that.
func verdict(cell results.Cell, h *history.History, p pair, st *script, err error, missed bool) results.Cell {
	var late *lateError
	errors.As(err, &late)
	judged := cell
	judge(&judged, h, p, met(p.scenario, st.config), late)
	why := stalled(h.Events)
	if why == "" && missed {
		why = storeStalled
	}
	if why == "" && p.service != nil {
		why = overheld(h.Events, p)
	}
	if why != "" && doubtful(judged) {
		return notRun(cell, results.CouldNotRun, why)
	}
	return judged
}

// looked keeps the claim that the store was looked into only if an attempt came by
// the recorded ports, or none executed: of a coordinator with a client of its own
// nothing can be said about records, and silence is not proof.
func looked(h *history.History) *history.History {
	seen, ran := false, false
	for _, e := range h.Events {
		seen = seen || e.Kind == history.StoreCall
		ran = ran || e.Kind == history.Run
	}
	h.Header.Inspected = h.Header.Inspected && (seen || !ran)
	return h
}

func notRun(cell results.Cell, status, why string) results.Cell {
	cell.Status, cell.Why, cell.Expected = status, why, results.ExpectNone
	return cell
}

func stopped(ctx context.Context) string {
	if why, gone := storeGone(ctx); gone {
		return why.Error()
	}
	return errInterrupted.Error()
}

// unable says what the scenario needs and the run's store or the target does not
// have, "" if nothing.
func unable(cfg Config, p pair) string {
	if p.service != nil {
		return p.service.unable(p.scenario)
	}
	for _, need := range p.scenario.Needs() {
		switch {
		case need == scenarios.CutStore && !cfg.Backend.Proxyable():
			return fmt.Sprintf("needs %s; the %s store is not", need, cfg.Backend.Kind())
		case need == scenarios.SeeStore && p.entry.Unseen:
			return fmt.Sprintf("needs %s; %s has a client of its own", need, p.entry.Name)
		}
	}
	return ""
}

// coordinatorConfig is what the user wants, with the scenario's own setting
// before it.
func coordinatorConfig(cfg Config, p pair) reservation.Config {
	c := cfg.Coordinator
	if c.StoreDown == "" {
		c.StoreDown = p.entry.Policy
	}
	if s := p.scenario.Setting; s.StoreDown != "" {
		c.StoreDown = s.StoreDown
	}
	if n := p.scenario.Setting.MaxResult; n > 0 {
		c.MaxResult = n
	}
	if d := p.scenario.Setting.Lease; d > 0 {
		c.Lease = d
	}
	if d := p.scenario.Setting.WaitLimit; d > 0 {
		c.WaitLimit = d
	}
	if c.Lease == 0 {
		c.Lease = reservation.DefaultLease
	}
	if c.Retention == 0 {
		c.Retention = reservation.DefaultRetention
	}
	return c
}

// met says which conditions the surroundings of a cell fulfil.
func met(s scenarios.Scenario, c reservation.Config) func(check.Need) bool {
	return func(n check.Need) bool {
		switch n {
		case check.NeedsProviderKey:
			return s.Setting.HonoursKeys
		case check.NeedsNoKeys:
			return !s.Setting.HonoursKeys
		case check.NeedsFailClosed:
			return c.StoreDown == reservation.FailClosed
		case check.NeedsDurableStore:
			return true // no scenario of this kind loses an acknowledged write
		}
		return false
	}
}
