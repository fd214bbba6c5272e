package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// Replayed is a schedule that was made again.
type Replayed struct {
	Schedule Schedule // as it was made
	History  *history.History
	Findings []check.Finding
	Outcome  string
	// Violated are the invariants that the run breaks. Fixed: it fits, and the
	// schedule's own invariant is not among them.
	Violated []Violation
	Fixed    bool

	story *teller
}

// Replay makes a schedule again on the coordinator of cfg, driven by labels. The
// schedule says what the clients send; of cfg count Entry, Coordinator and Back.
//
// Where the schedule does not fit it returns a *DivergedError, and what was made
// until then; with Back, ErrStoresDiffer where the real store does not end it like the
// model.
func Replay(cfg Config, s Schedule) (Replayed, error) { return cfg.again(s, strict) }

// How a schedule is followed.
const (
	strict  = iota // step by step
	lenient        // what is not possible is left out, and the run goes on to its end
	partly         // step by step, and the end is open
)

// with is the configuration that makes a schedule: nothing bounds it, and any client
// may be first.
func (c Config) with(s Schedule) (Config, error) {
	c.Clients, c.Payloads, c.HonoursKeys, c.HangUps = s.Clients, s.Payloads, s.HonoursKeys, s.HangUps
	c.NoSymmetry, c.lanes, c.rooted = true, nil, 0
	c.Preemptions, c.Strategy, c.Seed = Unbounded, Exhaustive, s.Seed
	return c, c.check()
}

func (c Config) again(s Schedule, how int) (Replayed, error) {
	cfg, err := c.with(s)
	if err != nil {
		return Replayed{}, err
	}
	defer cfg.free()
	w := recorded(&cfg)
	defer w.discard()
	if w.broken != nil {
		return Replayed{}, w.broken
	}
	var t *teller
	if how != lenient { // candidates are not told
		t = &teller{w: w}
	}
	err = w.follow(s.Steps, how, t)
	if how != partly && err == nil {
		w.closed()
		err = w.asOnModel()
	}
	r := Replayed{Schedule: cfg.schedule(w.steps), History: w.rec.History(), Outcome: w.outcome(), story: t}
	r.Schedule.Invariant = s.Invariant
	r.judge(&cfg, w)
	r.Fixed = err == nil && how != partly && s.Invariant != "" && !r.breaks(s.Invariant)
	return r, err
}

func (r *Replayed) judge(cfg *Config, w *world) {
	r.Findings = check.Judge(r.History)
	for _, f := range r.Findings {
		if f.Verdict == check.Violated {
			v := Violation{Invariant: f.Invariant, Because: f.Because, Guaranteed: cfg.guaranteed(f.Invariant, w.seen), Schedule: r.Schedule}
			v.Schedule.Invariant = f.Invariant
			r.Violated = append(r.Violated, v)
		}
	}
}

func (r *Replayed) breaks(invariant string) bool {
	return slices.ContainsFunc(r.Violated, func(v Violation) bool { return v.Invariant == invariant })
}

// follow makes the steps by their labels.
func (w *world) follow(steps []Step, how int, t *teller) error {
	var buf []Choice
	for i, step := range steps {
		buf = w.choices(buf)
		c, ok := w.find(buf, step)
		switch {
		case ok:
			w.take(c)
			t.took()
		case how != lenient:
			return &DivergedError{At: i, Wanted: step.String(), Possible: w.labels(buf)}
		}
		if w.broken != nil {
			return w.broken
		}
	}
	if how == partly || w.over() {
		return nil
	}
	if how == strict {
		return &DivergedError{At: len(steps), Possible: w.labels(w.choices(buf))}
	}
	return w.finish(buf, t)
}

// finish runs on to the end, each client in turn, with no more harm.
func (w *world) finish(buf []Choice, t *teller) error {
	w.left = budget{preemptions: free}
	for n := 0; !w.over(); n++ {
		buf = w.choices(buf)
		if len(buf) == 0 || n > endless {
			return fmt.Errorf("%w: %d steps after the schedule's own", ErrEndless, n)
		}
		w.take(buf[0])
		t.took()
	}
	return w.broken
}

// find is the choice that goes by that label.
func (w *world) find(among []Choice, step Step) (Choice, bool) {
	for _, c := range among {
		if w.label(c) == step {
			return c, true
		}
	}
	return Choice{}, false
}

func (w *world) labels(choices []Choice) []Step {
	var all []Step
	for _, c := range choices {
		all = append(all, w.label(c))
	}
	return all
}

// discard ends a world for good.
func (w *world) discard() {
	w.bury()
}

// Walk is a schedule that somebody chooses step by step.
type Walk struct {
	cfg   Config
	steps []Step
	now   Replayed
	next  []Step
}

// NewWalk begins one: with all that the budgets of cfg allow.
func NewWalk(cfg Config) (*Walk, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	k := &Walk{cfg: cfg}
	return k, k.look()
}

// look runs what was chosen so far, and lists what can follow.
func (k *Walk) look() (err error) {
	cfg, err := k.cfg.with(k.cfg.schedule(nil))
	if err != nil {
		return err
	}
	defer cfg.free()
	w := recorded(&cfg)
	defer w.discard()
	w.left = k.cfg.budget()
	t := &teller{w: w}
	if err := w.follow(k.steps, partly, t); err != nil {
		return err
	}
	k.next = w.labels(w.choices(nil))
	if len(k.next) == 0 {
		w.closed()
		if err := w.asOnModel(); err != nil {
			return err
		}
	}
	k.now = Replayed{Schedule: cfg.schedule(w.steps), History: w.rec.History(), Outcome: w.outcome(), story: t}
	k.now.judge(&cfg, w)
	return nil
}

// Possible are the steps that can be made now; none when all is over.
func (k *Walk) Possible() []Step { return slices.Clone(k.next) }

// Take makes one of them. Of a step that is not possible it is a *DivergedError, and
// nothing changes.
func (k *Walk) Take(s Step) error {
	if !slices.Contains(k.next, s) {
		return &DivergedError{At: len(k.steps), Wanted: s.String(), Possible: k.Possible()}
	}
	k.steps = append(k.steps, s)
	return k.look()
}

// Back takes the last step back; false if there is none.
func (k *Walk) Back() (bool, error) {
	if len(k.steps) == 0 {
		return false, nil
	}
	k.steps = k.steps[:len(k.steps)-1]
	return true, k.look()
}

// Now is the run so far. What it breaks is certain only when nothing is possible any
// more.
func (k *Walk) Now() Replayed { return k.now }

// Story tells a run that was made again; of a run that breaks nothing it has no
// sentence.
func (r Replayed) Story() Story {
	s := r.story.story(r.Schedule)
	s.Outcome = strings.Split(r.Outcome, "; ")
	for _, v := range r.Violated {
		if v.Invariant == r.Schedule.Invariant || r.Schedule.Invariant == "" && s.Because == "" {
			s.Invariant, s.Because = v.Invariant, v.Because
		}
	}
	return s
}
