package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// search is a depth-first search by running again: a schedule is a list of
// choices, and a run that is to differ at its end begins anew.
type search struct {
	ctx    context.Context
	cfg    *Config
	began  time.Time
	w      *world
	result Result
	cost   int // of this level; free at the last

	visited map[digest]uint32 // state → the sleep set that it was left with
	verdict *verdicts
	full    bool // the memory bound was met
	unlike  bool // alike clients are told apart: symmetry leaves too much out
	frames  []frame
	depth   int // frames in use
}

// frame is a point of the schedule at which there was a choice.
type frame struct {
	choices []Choice
	at      int
	sleep   uint32 // actors whose next step need not be tried here
}

// endless is the number of steps after which a schedule is given up: the longest
// honest one that was seen has 120.
const endless = 2000

// ErrEndless: a schedule never came to an end, because a client goes on making steps.
var ErrEndless = errors.New("explore: a client never comes to an end")

func newSearch(ctx context.Context, cfg *Config) *search {
	return &search{ctx: ctx, cfg: cfg, began: time.Now(), w: newWorld(cfg, nil), verdict: newVerdicts(cfg)}
}

// dear is a level so large that the ones above it are not searched one by one: their
// schedules would be run several times, and most of what is found is cheap.
const dear = 1000

// deepen searches by cost, so that the first violation is already near minimal,
// and then without a bound on it.
func (s *search) deepen() error {
	budget := s.cfg.Faults + s.cfg.Crashes + s.cfg.Expiries + s.cfg.HangUps
	most := min(2, budget+1) + budget
	if s.cfg.Preemptions >= 0 {
		most = s.cfg.Preemptions + budget
	}
	for cost := 0; cost <= most; cost++ {
		if whole, err := s.level(cost); whole || err != nil || s.result.Why != "" {
			return err
		}
		if done := s.result.Levels[len(s.result.Levels)-1]; done.Runs > dear && s.cfg.Preemptions == Unbounded {
			break
		} else if done.Runs > dear {
			cost = max(cost, most-1)
		}
	}
	if s.cfg.Preemptions == Unbounded {
		_, err := s.level(free)
		return err
	}
	return nil
}

// level searches everything of at most that cost. It is whole if that left nothing
// out: then no higher cost has more.
func (s *search) level(cost int) (whole bool, err error) {
	s.cost, s.full, s.w.cut = cost, false, false
	s.visited = map[digest]uint32{}
	s.depth = 0
	l := Level{Cost: cost}
	if cost == free {
		l.Cost = Unbounded
	}
	for {
		if err := s.run(); err != nil {
			return false, err
		}
		l.Runs++
		s.result.Runs++
		if s.result.Why = s.stop(); s.result.Why != "" {
			break
		}
		if !s.back() {
			l.Complete = !s.full
			break
		}
	}
	s.verdict.enter(&s.result)
	l.Violating = s.verdict.violating()
	l.States = len(s.visited)
	s.result.States = max(s.result.States, l.States)
	if s.full && s.result.Why == "" {
		s.result.Why = fmt.Sprintf("more than %d states; --max-states allows more", s.cfg.maxStates())
	}
	s.result.Levels = append(s.result.Levels, l)
	return l.Complete && !s.w.cut, nil
}

// stop says why the search must end, "" if it may go on.
func (s *search) stop() string {
	switch {
	case s.unlike:
		return "alike clients are told apart"
	case s.cfg.MaxRuns > 0 && s.result.Runs >= s.cfg.MaxRuns:
		return fmt.Sprintf("%d runs were made", s.result.Runs)
	case s.result.Runs%64 != 0:
		return ""
	case s.ctx.Err() != nil:
		return "interrupted"
	case s.cfg.MaxTime > 0 && time.Since(s.began) > s.cfg.MaxTime:
		return fmt.Sprintf("%v had passed", s.cfg.MaxTime)
	}
	if s.cfg.Progress != nil && s.result.Runs%4096 == 0 {
		level := s.cost
		if level == free {
			level = Unbounded
		}
		s.cfg.Progress(Progress{Level: level, Runs: s.result.Runs, States: len(s.visited)})
	}
	return ""
}

// back moves the last choice that has an alternative, and forgets those behind it.
func (s *search) back() bool {
	for n := s.depth - 1; n >= s.cfg.rooted; n-- {
		f := &s.frames[n]
		if c := f.choices[f.at]; s.sleeping() && c.plain() {
			f.sleep |= 1 << c.Actor // whatever began with it has been tried
		}
		for f.at++; f.at < len(f.choices); f.at++ {
			if !f.asleep(f.choices[f.at]) {
				s.depth = n + 1
				return true
			}
		}
	}
	return false
}

// sleeping: sleep sets are sound only where preemptions cost nothing.
func (s *search) sleeping() bool { return s.cost == free && !s.cfg.NoSleep }

func (f *frame) asleep(c Choice) bool { return c.plain() && f.sleep&(1<<c.Actor) != 0 }

func (s *search) budget() budget {
	b := s.cfg.budget()
	if s.cost != free {
		b.preemptions = min(b.preemptions, s.cost)
	}
	return b
}

// run makes one schedule: the chosen part again, then the first choice each time.
func (s *search) run() error {
	w := s.w
	w.begin(s.budget())
	defer w.bury()
	for depth := 0; w.broken == nil; depth++ {
		if depth == s.depth && !s.push() {
			break
		}
		if depth > endless {
			return fmt.Errorf("%w: more than %d steps, the last ones of %s", ErrEndless, endless, w.actors[max(0, w.current)].name)
		}
		f := &s.frames[depth]
		w.take(f.choices[f.at])
		s.result.Steps++
	}
	if w.broken != nil || !w.over() {
		return w.broken // or seen before
	}
	if s.cfg.finished != nil {
		s.cfg.finished(w)
	}
	if err := w.asOnModel(); err != nil {
		return err
	}
	s.verdict.judge(w)
	s.unlike = s.twinned() && s.unalike()
	return nil
}

// push adds a frame for the state that is reached now. It reports false at the end of
// a schedule, or where another has been before.
func (s *search) push() bool {
	w := s.w
	if s.depth == len(s.frames) {
		s.frames = append(s.frames, frame{})
	}
	f := &s.frames[s.depth]
	f.choices, f.at = s.affordable(w.choices(f.choices)), 0
	if len(f.choices) == 0 {
		return false
	}
	f.sleep = s.inherit()
	if !s.cfg.NoVisited && s.depth >= s.cfg.rooted && s.before(f.sleep) {
		return false
	}
	for f.at < len(f.choices) && f.asleep(f.choices[f.at]) {
		f.at++
	}
	if f.at == len(f.choices) {
		return false
	}
	s.depth++
	return true
}

// affordable leaves out what would cost more than this level has.
func (s *search) affordable(choices []Choice) []Choice {
	if s.cost == free {
		return choices
	}
	left := s.cost - s.w.spent()
	kept := slices.DeleteFunc(choices, func(c Choice) bool { return s.w.price(c) > left })
	s.w.cut = s.w.cut || len(kept) < len(choices)
	return kept
}

// inherit is the sleep set of the state that the last choice has led to: who slept
// before goes on sleeping unless that step and its own touch the same. Anything but
// a client's own step that went as it should wakes all: time, faults and deaths
// change what steps mean.
func (s *search) inherit() uint32 {
	if !s.sleeping() || s.depth == 0 {
		return 0
	}
	f := &s.frames[s.depth-1]
	c := f.choices[f.at]
	if !c.plain() || f.sleep == 0 || s.w.actors[c.Actor].ended {
		return 0 // an answer has an order with everything
	}
	var sleep uint32
	for _, a := range s.w.actors {
		if f.sleep&(1<<a.id) != 0 && a.id != c.Actor && independent(a.op, s.w.last) {
			sleep |= 1 << a.id
		}
	}
	return sleep
}

// independent: in either order both steps see and leave the same, and no verdict
// depends on which was first. Requests and calls have an order with everything, for
// laws speak of it.
func independent(a, b Op) bool {
	if a.Kind == Start || b.Kind == Start || a.Kind.provider() || b.Kind.provider() {
		return false
	}
	return a.Object != b.Object || !a.Writes && !b.Writes
}

// before reports whether the state was met with no more to try than now, and
// remembers it.
func (s *search) before(sleep uint32) bool {
	h := s.w.hash(s.cost != free)
	sleep = s.w.canonical(sleep)
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
