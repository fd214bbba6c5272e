package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/store/backend"
	"github.com/idemrace/idemrace/target/hook"
	"github.com/idemrace/idemrace/target/httptarget"
)

// LoadService starts a service as OpenService does, runs a plan against it, and ends
// it. Errors that wrap ErrTarget say why it could not be loaded, those that wrap
// ErrFault which fault it cannot have.
func LoadService(ctx context.Context, svc ServiceConfig, cfg LoadConfig) (r load.Report, err error) {
	if why := unfit(svc); why != "" {
		return r, fmt.Errorf("%w: %s: %s", ErrTarget, svc.Service.Name, why)
	}
	s, err := OpenService(ctx, svc)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.usesStore && cfg.Plan.Run != "" && svc.Backend.Kind() != backend.URL {
		return r, fmt.Errorf("%w: %s: shards share its keys, and no other shard reaches its store of kind %s; give one for all: --store redis://HOST:PORT", ErrTarget, s.Name(), svc.Backend.Kind())
	}
	l, err := s.underLoad(ctx, cfg)
	if err != nil {
		return r, err
	}
	defer l.close()
	meeting := ""
	if s.usesStore {
		if meeting, err = meet(ctx, svc.Backend, cfg.Plan); err != nil {
			return r, err
		}
	}
	r = l.run(ctx)
	r.Meeting = meeting
	return r, nil
}

// unfit says why a service cannot be loaded at all, "" if it can.
func unfit(svc ServiceConfig) string {
	s := svc.Service
	switch {
	case s.Effects.Command != "" || s.Effects.URL != "":
		return "its effects are rows, and a load is judged while it runs, by the provider's ledger; idemrace run judges rows"
	case slices.ContainsFunc(s.Setup, func(st hook.Step) bool { return st.Per == hook.PerRef }):
		return "it has setup steps per ref, with which a load cannot keep up; idemrace run has time for them"
	}
	return ""
}

// serviceLoad is a service under load.
type serviceLoad struct {
	svc     *Service
	cfg     LoadConfig
	desk    *loadDesk
	till    *till
	time    *load.Timeline
	stream  *httptarget.Stream
	workers []string
	stop    context.CancelFunc // ends what is open at the till
}

func (s *Service) underLoad(ctx context.Context, cfg LoadConfig) (*serviceLoad, error) {
	for _, f := range cfg.Faults {
		if why := s.unfaultable(f); why != "" {
			return nil, fmt.Errorf("%w: %s: %v: %s", ErrFault, s.Name(), f, why)
		}
	}
	stream, err := s.target.Stream()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrTarget, s.Name(), err)
	}
	l := &serviceLoad{svc: s, cfg: cfg, stream: stream, workers: s.crew.Names(), time: load.NewTimeline(load.StepFor(cfg.Plan.For))}
	l.till = &till{takes: cfg.Takes, shard: cfg.Plan.ShardName(), ledger: load.NewLedger(l.time.Charged), cut: make(chan struct{})}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.desk = &loadDesk{till: l.till, running: running, names: s.namesOf(cfg.Plan)}
	if s.amounts != nil {
		l.desk.base = s.amounts.Last()
	}
	if s.cfg.Service.Provider.HonoursKeys {
		l.desk.keys = newKeyring()
	}
	s.desk.serve(l.desk)
	return l, nil
}

// namesOf are the load's own, or those of all shards that share its keys.
func (s *Service) namesOf(p load.Plan) *httptarget.Names {
	if p.Run != "" {
		return httptarget.NewNames(p.Run, "1", nil)
	}
	return httptarget.NewNames(s.run, fmt.Sprint(s.cells.Add(1)), nil)
}

// unfaultable says why the service cannot have a fault, "" if it can.
func (s *Service) unfaultable(f LoadFault) string {
	switch {
	case f.Worker != "" && !slices.Contains(s.crew.Names(), f.Worker):
		return "there is no worker " + f.Worker + "; there are: " + strings.Join(s.crew.Names(), ", ")
	case f.Kind == StoreDownFault && (s.proxy == nil || !s.usesStore):
		return s.noStore()
	case f.Kind == WorkerKillFault && !s.crew.CanKill(), f.Kind == WorkerPauseFault && !s.crew.CanPause():
		return "the workers were not started by idemrace, and workers.control says no way"
	}
	return ""
}

// run loads and reports.
func (l *serviceLoad) run(ctx context.Context) load.Report {
	s := l.svc
	begin := l.cfg.begin()
	g := load.Generator{Plan: l.cfg.Plan, Sender: l, Judge: load.NewJudge(l.till.ledger, load.DefaultKept, begin), Timeline: l.time,
		Log: l.cfg.Log.Of(s.Name()), Progress: l.cfg.Progress, Every: time.Second, Settle: func() { l.settle(ctx) }}
	defer l.till.endWith(ctx, lastAnswers)()
	faults := disturb(ctx, begin, l.cfg.Faults, l)
	before, commands := cpu(), l.commands()
	r := load.Report{Result: g.Run(ctx), Target: s.Name(), Workers: len(l.workers)}
	r.CPU, r.Commands = cpu()-before, l.commands()-commands
	if s.usesStore {
		r.Trouble = storeTrouble(s.cfg.Backend)
	}
	l.cfg.tell(&r, l.time, faults.end())
	if s.serialises {
		r.Note = "a second key waits for the first, so that requests do not race"
	}
	if died := s.crew.Died(); len(died) > 0 && !s.cfg.Service.Workers.Restart {
		r.Trouble = fmt.Sprintf("worker %s has died; it last said: %s", died[0], s.cfg.Hide(lastWords(s.crew.Output(died[0], lastWordsMax))))
	}
	return r
}

// commands that the service has sent to its store.
func (l *serviceLoad) commands() int {
	if l.svc.proxy == nil {
		return 0
	}
	return l.svc.proxy.Commands()
}

// settle: a service may charge when nobody waits for its answer any more.
func (l *serviceLoad) settle(ctx context.Context) {
	resting, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeService)
	defer cancel()
	l.till.rest(resting, l.svc.quiet())
}

func (l *serviceLoad) close() {
	l.svc.desk.serve(nil)
	l.stop()
	l.stream.Close()
}

// begin makes a fault.
func (l *serviceLoad) begin(f LoadFault) (end func(context.Context) error, err error) {
	if end, ok := l.till.begin(f); ok {
		return end, nil
	}
	crew, w := l.svc.crew, f.Worker
	if w == "" {
		w = l.workers[0]
	}
	switch f.Kind {
	case WorkerKillFault:
		return func(ctx context.Context) error { return crew.Restart(ctx, w) }, crew.Kill(w)
	case WorkerPauseFault:
		return func(context.Context) error { return crew.Resume(w) }, crew.Pause(w)
	}
	l.svc.proxy.Down()
	return func(ctx context.Context) error {
		if err := l.svc.proxy.Up(); err != nil {
			return err
		}
		if l.svc.cfg.Service.Workers.Restart {
			return l.svc.crew.Mend(ctx)
		}
		return nil
	}, nil
}

// Send is one request of the plan. The duplicates of a key go to the workers after the
// first one's, in turn: a lock within a process shows only there.
func (l *serviceLoad) Send(ctx context.Context, r load.Request) load.Reply {
	entry := r.Entry()
	for high := l.desk.highest.Load(); entry > high && !l.desk.highest.CompareAndSwap(high, entry); {
		high = l.desk.highest.Load()
	}
	shot := httptarget.Shot{Worker: l.workers[int((r.Ref+int64(r.Copy))%int64(len(l.workers)))], Rival: r.Rival, Amount: loadAmount,
		Key: l.desk.names.Key(strconv.FormatInt(r.Ref, 10)), Ref: l.desk.names.Ref(strconv.FormatInt(entry, 10))}
	switch {
	case l.svc.amounts != nil:
		shot.Amount = l.desk.base + entry
	case r.Other:
		shot.Amount = otherAmount
	}
	out := l.stream.Send(ctx, shot)
	return load.Reply{Answer: out.Answer, Source: out.Source, Charge: out.Charge, Status: out.Status, Detail: out.Detail}
}
