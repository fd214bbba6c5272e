package explore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/idemrace/idemrace/check"
)

// search is a depth-first search by running again: a schedule is a list of
// choices, and a run that is to differ at its end begins anew.
type search struct {
	ctx    context.Context
	cfg    *Config
	began  time.Time
	result Result
	cost   int // of this level; free at the last
	last   bool

	visited map[digest]uint32 // state → the sleep set that it was left with
	judged  map[digest][]check.Finding
	seen    map[string]bool // outcomes
	found   map[string]bool // invariants
	full    bool            // the memory bound was met
	stack   []frame
	chosen  []Choice
}

// frame is a point of the schedule at which there was a choice.
type frame struct {
	choices []Choice
	at      int
	sleep   uint32 // actors whose next step need not be tried here
}

func newSearch(ctx context.Context, cfg *Config) *search {
	return &search{ctx: ctx, cfg: cfg, began: time.Now(), judged: map[digest][]check.Finding{}, seen: map[string]bool{}, found: map[string]bool{}}
}

// deepen searches by cost, so that the first violation is already near minimal,
// and then without a bound on it.
func (s *search) deepen() error {
	budget := s.cfg.Faults + s.cfg.Crashes + s.cfg.Expiries
	most := 2 + budget
	if s.cfg.Preemptions >= 0 {
		most = s.cfg.Preemptions + budget
	}
	for cost := 0; cost <= most; cost++ {
		if err := s.level(cost, cost == most && s.cfg.Preemptions >= 0); err != nil || s.result.Why != "" {
			return err
		}
	}
	if s.cfg.Preemptions == Unbounded {
		if err := s.level(free, true); err != nil {
			return err
		}
	}
	s.result.Complete = s.result.Why == ""
	slices.Sort(s.result.Outcomes)
	return nil
}

// level searches everything of at most that cost.
func (s *search) level(cost int, last bool) error {
	s.cost, s.last, s.full = cost, last, false
	s.visited = map[digest]uint32{}
	s.stack = s.stack[:0]
	l := Level{Cost: cost}
	if cost == free {
		l.Cost = Unbounded
	}
	for {
		violating, err := s.run()
		if err != nil {
			return err
		}
		l.Runs++
		s.result.Runs++
		if violating {
			l.Violating++
		}
		if why := s.stop(); why != "" {
			s.result.Why = why
			break
		}
		if !s.back() {
			l.Complete = !s.full
			break
		}
	}
	s.result.States = max(s.result.States, len(s.visited))
	if s.full && s.result.Why == "" {
		s.result.Why = fmt.Sprintf("more than %d states; --max-states allows more", s.cfg.maxStates())
	}
	s.result.Levels = append(s.result.Levels, l)
	return nil
}

// stop says why the search must end, "" if it may go on.
func (s *search) stop() string {
	switch {
	case s.cfg.MaxRuns > 0 && s.result.Runs >= s.cfg.MaxRuns:
		return fmt.Sprintf("%d runs were made", s.result.Runs)
	case s.result.Runs%256 != 0:
		return ""
	case s.ctx.Err() != nil:
		return "interrupted"
	case s.cfg.MaxTime > 0 && time.Since(s.began) > s.cfg.MaxTime:
		return fmt.Sprintf("%v had passed", s.cfg.MaxTime)
	}
	if s.cfg.Progress != nil && s.result.Runs%4096 == 0 {
		s.cfg.Progress(Progress{Level: s.cost, Runs: s.result.Runs, States: len(s.visited)})
	}
	return ""
}

// back moves the last choice that has an alternative, and forgets those behind it.
func (s *search) back() bool {
	for n := len(s.stack) - 1; n >= 0; n-- {
		f := &s.stack[n]
		if c := f.choices[f.at]; s.sleeping() && c.Actor >= 0 && c.Act == Go && c.Call == 0 {
			f.sleep |= 1 << c.Actor // whatever began with it has been tried
		}
		for f.at++; f.at < len(f.choices); f.at++ {
			if !s.asleep(f, f.choices[f.at]) {
				s.stack = s.stack[:n+1]
				return true
			}
		}
	}
	return false
}

// sleeping: sleep sets are sound only where preemptions cost nothing, and only
// where nothing but clients' steps can happen.
func (s *search) sleeping() bool { return s.cost == free && !s.cfg.NoSleep }

func (s *search) asleep(f *frame, c Choice) bool {
	return c.Actor >= 0 && c.Act == Go && c.Call == 0 && f.sleep&(1<<c.Actor) != 0
}

func (s *search) budget() budget {
	b := budget{faults: s.cfg.Faults, crashes: s.cfg.Crashes, expiries: s.cfg.Expiries, preemptions: free}
	if s.cost != free {
		b.preemptions = s.cost
		if s.cfg.Preemptions >= 0 {
			b.preemptions = min(b.preemptions, s.cfg.Preemptions)
		}
	}
	return b
}

// run makes one schedule: the chosen part again, then the first choice each time.
func (s *search) run() (violating bool, err error) {
	w := newWorld(s.cfg, s.budget())
	defer w.bury()
	if w.broken != nil {
		return false, w.broken
	}
	s.chosen = s.chosen[:0]
	for depth := 0; ; depth++ {
		if depth == len(s.stack) {
			if !s.push(w) {
				break
			}
		}
		f := &s.stack[depth]
		c := f.choices[f.at]
		s.chosen = append(s.chosen, c)
		w.take(c)
		s.result.Steps++
	}
	if !w.over() {
		return false, nil // seen before
	}
	return s.judge(w), nil
}

// push adds a frame for the state that is reached now. It reports false at the end of
// a schedule, or where another has been before.
func (s *search) push(w *world) bool {
	choices := s.affordable(w, w.choices(nil))
	if len(choices) == 0 {
		return false
	}
	sleep := s.inherit(w)
	if !s.cfg.NoVisited && s.before(w, sleep) {
		return false
	}
	f := frame{choices: choices, sleep: sleep}
	for f.at < len(choices) && s.asleep(&f, choices[f.at]) {
		f.at++
	}
	if f.at == len(choices) {
		return false
	}
	s.stack = append(s.stack, f)
	return true
}

// affordable leaves out what would cost more than this level has.
func (s *search) affordable(w *world, choices []Choice) []Choice {
	if s.cost == free {
		return choices
	}
	left := s.cost - w.spent(s.budget())
	return slices.DeleteFunc(choices, func(c Choice) bool { return w.price(c) > left })
}

// spent is what the run has cost so far.
func (w *world) spent(from budget) int {
	return from.faults - w.left.faults + from.crashes - w.left.crashes + from.expiries - w.left.expiries + from.preemptions - w.left.preemptions
}

// price of a choice: one for each thing that had not to happen.
func (w *world) price(c Choice) int {
	n := 0
	switch {
	case c.Act == Crash, c.Act == FailBefore, c.Act == LoseReply, c.Act == ChargeLost, c.Act == FailCall:
		n++
	case c.Actor == theClock && (c.Call > 0 || !w.idle()):
		n++
	}
	if w.preempts(c) {
		n++
	}
	return n
}

// inherit is the sleep set of the state that the last choice has led to: who slept
// before goes on sleeping unless that step and its own touch the same.
func (s *search) inherit(w *world) uint32 {
	n := len(s.stack)
	if !s.sleeping() || n == 0 {
		return 0
	}
	f := &s.stack[n-1]
	c := f.choices[f.at]
	if c.Actor < 0 || c.Act != Go || c.Call > 0 {
		return 0
	}
	var sleep uint32
	for _, a := range w.actors {
		if f.sleep&(1<<a.id) != 0 && a.id != c.Actor && independent(a.op, w.last) {
			sleep |= 1 << a.id
		}
	}
	return sleep
}

// independent: in either order both steps see and leave the same.
func independent(a, b Op) bool {
	return a.Object != b.Object || !a.Writes && !b.Writes
}

// before reports whether the state was met with no more to try than now, and
// remembers it.
func (s *search) before(w *world, sleep uint32) bool {
	h := w.hash(s.cost != free)
	known, met := s.visited[h]
	if met && known&^sleep == 0 {
		return true
	}
	if met {
		s.visited[h] = known & sleep
		return false
	}
	if len(s.visited) >= s.cfg.maxStates() {
		s.full = true
		return false
	}
	s.visited[h] = sleep
	return false
}

// over: nothing can happen any more.
func (w *world) over() bool {
	for _, a := range w.actors {
		if a.live() {
			return false
		}
	}
	return !slices.ContainsFunc(w.calls, func(c call) bool { return c.left && !c.over })
}
