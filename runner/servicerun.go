package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idemrace/idemrace/config"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/target/effects"
)

// runID marks all that is sent in a run.
func runID() string { return strings.Split(runPrefix(), ":")[1][:8] }

// alone: a cell that disturbs what others use, or measures with tight margins.
func alone(s scenarios.Scenario) bool {
	return s.Setting.Alone || slices.ContainsFunc(s.Needs(), func(n scenarios.Ability) bool {
		return n == scenarios.CutStore || n == scenarios.KillWorkers || n == scenarios.PauseWorkers
	})
}

// enter waits until the service is free for a cell, and returns how to leave it.
func (s *Service) enter(alone bool) (leave func()) {
	if alone {
		s.one.Lock()
		return s.one.Unlock
	}
	s.one.RLock()
	return s.one.RUnlock
}

// wellAgain starts workers that have died by themselves, if the configuration says
// so: a service may die when its store does.
func (s *Service) wellAgain(ctx context.Context) error {
	died := s.crew.Died()
	if len(died) == 0 {
		return nil
	}
	if !s.cfg.Service.Workers.Restart {
		return fmt.Errorf("worker %s has died; it last said: %s (workers.restart: true starts it again)", died[0], lastWords(s.crew.Output(died[0], lastWordsMax)))
	}
	return s.crew.Mend(ctx)
}

// lastWordsMax is enough for a panic's first lines or a failed start's last one.
const lastWordsMax = 400

func lastWords(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "nothing"
	}
	return text
}

func (s *Service) quiet() time.Duration {
	if q := s.cfg.Service.Effects.Quiet; q > 0 {
		return q
	}
	return effects.DefaultQuiet
}

// entry stands for the service where a coordinator's entry is asked for. It says
// nothing of what it lacks: it has to keep what its profile demands.
func (s *Service) entry() impl.Entry { return impl.Entry{Name: s.Name(), Unseen: true} }

// observe is what the cells have seen, and how an answer that comes again is marked.
func (s *Service) observe(cells []results.Cell) []results.Observation {
	seen := Observe(cells, s.Name())
	if s.marks != "" {
		seen = append(seen, results.Observation{Target: s.Name(), Topic: "replay marker", Seen: s.marks, Scenario: "preflight"})
	}
	return seen
}

// claims: that a service must keep the invariant can be demanded from outside. What
// it reports as an orphan is in its own log, so where a second execution lies in the
// nature of the scenario nobody can demand that each charge be accounted for.
func (p pair) claims(invariant string) bool {
	return p.service == nil || !p.scenario.AtLeastOnce || invariant != "effect/accounted"
}

// longestLease is how long a cell waits for a lease to end.
const longestLease = 5 * time.Second

// unable says what the scenario needs and the service does not have, "" if nothing.
func (s *Service) unable(sc scenarios.Scenario) string {
	for _, need := range sc.Needs() {
		if why := s.lacks(need); why != "" {
			return fmt.Sprintf("needs %s: %s", need, why)
		}
	}
	names := s.crew.Names()
	for _, w := range sc.Setting.WorkerNames() {
		if !slices.Contains(names, w) {
			return fmt.Sprintf("needs %d workers: %s has %d", len(sc.Setting.WorkerNames()), s.Name(), len(names))
		}
	}
	set, prof := sc.Setting, s.profile
	switch {
	case set.Lease > 0 && (prof.Lease <= 0 || prof.Lease > set.Lease):
		return fmt.Sprintf("needs a lease of at most %v: %s", set.Lease, declared("lease", prof.Lease))
	case set.StoreDown != "" && prof.StoreDown != "" && string(set.StoreDown) != prof.StoreDown:
		return fmt.Sprintf("is about failing %s, and the profile says store-down: %s", set.StoreDown, prof.StoreDown)
	}
	return ""
}

func declared(what string, d time.Duration) string {
	if d <= 0 {
		return "the profile declares no " + what
	}
	return fmt.Sprintf("the profile declares a %s of %v", what, d)
}

// lacks says why the service cannot serve a need, "" if it can.
func (s *Service) lacks(need scenarios.Ability) string {
	can := s.target.Can()
	for _, a := range []struct {
		need scenarios.Ability
		can  bool
		why  string
	}{
		{scenarios.CutStore, s.proxy != nil && s.usesStore, s.noStore()},
		{scenarios.EndClaims, s.profile.Lease > 0 && s.profile.Lease <= longestLease, declared("lease", s.profile.Lease) + ", and leases up to " + longestLease.String() + " are waited for"},
		{scenarios.ControlStore, false, "the records are the service's own"},
		{scenarios.KillWorkers, s.crew.CanKill(), "the workers were not started by idemrace, and workers.control says no way"},
		{scenarios.PauseWorkers, s.crew.CanPause(), "the workers were not started by idemrace, and workers.control says no way"},
		{scenarios.SeeStore, false, "the service has a client of its own"},
		{scenarios.CommandProvider, s.source == nil, "effects are rows, and no call of the provider"},
		{scenarios.TwoTenants, can.Tenants, ".Tenant stands nowhere in the request"},
		{scenarios.TwoOperations, can.Operations, ".Operation stands nowhere in the request"},
		{scenarios.OddKeys, false, "a header cannot carry them"},
		{scenarios.TraceField, can.Traces, ".Trace stands nowhere in the request"},
		{scenarios.MovedMembers, can.Reorder, "the body is neither a JSON object nor a form"},
		{scenarios.BigAnswers, false, "the service decides what it answers"},
	} {
		if a.need == need && !a.can {
			return a.why
		}
	}
	return ""
}

func (s *Service) noStore() string {
	if s.cfg.Service.Store.Kind == config.None {
		return "the configuration says store: none"
	}
	if s.proxy != nil {
		return "the service has sent nothing to REDIS_URL"
	}
	return fmt.Sprintf("the %s store has no connection to cut", s.cfg.Backend.Kind())
}

// overheld says that a provider call lasted longer than the lease that the service
// declares, in a scenario that is not about that, or "". Then its claim may have run
// out because this machine stalled.
func overheld(events []history.Event, p pair) string {
	lease := p.service.profile.Lease
	if lease <= 0 || waitsForLease(p.scenario) || p.scenario.Setting.Lease > 0 {
		return ""
	}
	began := map[int]time.Duration{}
	for _, e := range events {
		switch e.Kind {
		case history.Arrive:
			began[e.Call] = e.At
		case history.Reply:
			if held := e.At - began[e.Call]; held > lease*tooLong/100 {
				return fmt.Sprintf("%s %v, and the declared lease is %v", tooShort, held.Round(10*time.Millisecond), lease)
			}
		}
	}
	return ""
}

// tooShort begins the reason for which a cell proves nothing of a service with a
// short lease.
const tooShort = "its longest provider call lasted"

// waitsForLease: the scenario lets leases end.
func waitsForLease(s scenarios.Scenario) bool { return slices.Contains(s.Needs(), scenarios.EndClaims) }

// tooLong is the share of its lease, in per cent, up to which an owner surely still
// has it.
const tooLong = 70

// playService plays the service's cells: those that leave everything as it is
// beside each other, then the others one by one.
func (p *player) playService(ctx context.Context, cells []placed) {
	var shared, single []placed
	for _, c := range cells {
		if alone(c.scenario) {
			single = append(single, c)
		} else {
			shared = append(shared, c)
		}
	}
	p.play(ctx, shared, p.cfg.parallel())
	p.play(ctx, single, 1)
}
