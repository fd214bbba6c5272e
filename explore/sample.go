package explore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// DefaultRuns is how many schedules Random and PCT make unless told otherwise.
const DefaultRuns = 10_000

// defaultDepth is how often priorities change in a schedule of PCT: most known
// concurrency faults need three ordering constraints or fewer (Burckhardt et al.,
// "A randomized scheduler with probabilistic guarantees of finding bugs", 2010).
const defaultDepth = 3

// typical is about how many steps a client makes: PCT's change points lie within.
const typical = 12

// sample makes schedules by chance. Each has a seed of its own, from the number it
// has: however many cores share them, the result is the same.
func sample(ctx context.Context, cfg Config) (Result, error) {
	cfg.MaxRuns = cmp.Or(cfg.MaxRuns, DefaultRuns)
	cfg.Depth = cmp.Or(cfg.Depth, defaultDepth)
	shares := make([]*sampler, cfg.Cores)
	var all sync.WaitGroup
	for i := range shares {
		own := cfg
		own.lanes = nil
		shares[i] = &sampler{search: newSearch(ctx, &own), first: i}
		all.Go(func() {
			defer own.free()
			shares[i].err = shares[i].runAll(cfg.Cores)
		})
	}
	all.Wait()
	return joined(&cfg, shares)
}

// sampler makes every n-th schedule.
type sampler struct {
	*search
	first  int
	err    error
	foundN []int // numbers of the schedules behind result.Found
}

func (s *sampler) runAll(stride int) error {
	for n := s.first; n < s.cfg.MaxRuns; n += stride {
		if s.result.Why = s.late(n); s.result.Why != "" {
			return nil
		}
		if err := s.one(n); err != nil {
			return err
		}
		s.result.Runs++
		for len(s.foundN) < len(s.result.Found) {
			s.foundN = append(s.foundN, n)
		}
	}
	return nil
}

func (s *sampler) late(n int) string {
	switch {
	case s.ctx.Err() != nil:
		return "interrupted"
	case s.cfg.MaxTime > 0 && time.Since(s.began) > s.cfg.MaxTime:
		return fmt.Sprintf("%v had passed", s.cfg.MaxTime)
	case s.cfg.Progress != nil && s.first == 0 && n%4096 == 0:
		s.cfg.Progress(Progress{Level: Unbounded, Runs: n})
	}
	return ""
}

// one makes the n-th schedule.
func (s *sampler) one(n int) error {
	w := s.w
	pick := newPicker(s.cfg, n)
	w.begin(s.cfg.budget())
	defer w.bury()
	var buf []Choice
	for w.broken == nil {
		if buf = w.choices(buf); len(buf) == 0 {
			break
		}
		if len(w.chosen) > endless {
			return fmt.Errorf("%w: more than %d steps", ErrEndless, endless)
		}
		w.take(pick.next(w, buf))
		s.result.Steps++
	}
	if w.broken != nil {
		return w.broken
	}
	if s.cfg.finished != nil {
		s.cfg.finished(w)
	}
	if err := w.asOnModel(); err != nil {
		return err
	}
	s.verdict.judge(w)
	s.verdict.enter(&s.result)
	return nil
}

// picker chooses the next step by chance.
type picker struct {
	rand     *rand.Rand
	priority []int // PCT: by client; nil: Random
	changes  []int // PCT: steps at which the one who moved falls behind all others
	step     int
}

func newPicker(cfg *Config, n int) *picker {
	p := &picker{rand: rand.New(rand.NewPCG(uint64(cfg.Seed), uint64(n)))}
	if cfg.Strategy == PCT {
		for _, i := range p.rand.Perm(cfg.Clients) {
			p.priority = append(p.priority, i+cfg.Depth)
		}
		for range cfg.Depth {
			p.changes = append(p.changes, p.rand.IntN(typical*cfg.Clients))
		}
	}
	return p
}

// next is one of the choices. Harm is rarer than plain steps: else most schedules
// would spend their budget before anything has happened.
func (p *picker) next(w *world, choices []Choice) Choice {
	p.step++
	harmless := slices.Collect(func(yield func(Choice) bool) {
		for _, c := range choices {
			if c.Act == Crash || c.Act == HangUp || c.Act.fault() || w.hastens(c) {
				continue
			}
			if !yield(c) {
				return
			}
		}
	})
	if len(harmless) == 0 || len(harmless) < len(choices) && p.rand.IntN(8) == 0 {
		return choices[p.rand.IntN(len(choices))]
	}
	if p.priority == nil {
		return harmless[p.rand.IntN(len(harmless))]
	}
	best := slices.MaxFunc(harmless, func(a, b Choice) int { return cmp.Compare(p.rank(a), p.rank(b)) })
	if at := slices.Index(p.changes, p.step); at >= 0 && best.Actor >= 0 {
		p.priority[best.Actor] = at
	}
	return best
}

// rank: what is nobody's step comes first with an even chance, else last.
func (p *picker) rank(c Choice) int {
	if c.Actor >= 0 {
		return p.priority[c.Actor]
	}
	return p.rand.IntN(2)*2*MaxClients - 1
}

// joined makes one result of all shares: of each violation the schedule with the
// lowest number.
func joined(cfg *Config, shares []*sampler) (Result, error) {
	type numbered struct {
		n int
		v Violation
	}
	var all []numbered
	r := Result{Why: fmt.Sprintf("%d schedules were sampled", cfg.MaxRuns)}
	outcomes := map[string]bool{}
	for _, s := range shares {
		if s.err != nil {
			return s.result, s.err
		}
		if s.result.Why != "" {
			r.Why = s.result.Why
		}
		r.Runs, r.Steps, r.Judged = r.Runs+s.result.Runs, r.Steps+s.result.Steps, r.Judged+s.result.Judged
		for i, v := range s.result.Found {
			all = append(all, numbered{s.foundN[i], v})
		}
		for _, o := range s.result.Outcomes {
			outcomes[o] = true
		}
	}
	slices.SortStableFunc(all, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
	seen := map[broke]bool{}
	for _, f := range all {
		if b := (broke{f.v.Invariant, f.v.Guaranteed}); !seen[b] {
			seen[b] = true
			r.Found = append(r.Found, f.v)
		}
	}
	for o := range outcomes {
		r.Outcomes = append(r.Outcomes, o)
	}
	slices.Sort(r.Outcomes)
	return r, nil
}
