package explore

import (
	"slices"
	"strings"
	"sync"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// verdicts judges schedules, each way of ending once. Where there are cores to spare
// the search does not wait for it: what is found does not depend on who judges.
type verdicts struct {
	cfg    *Config
	judged map[digest]*ending // by terminal state
	fresh  []*ending          // not yet in a result
	texts  map[string]bool    // outcomes in a result

	jobs    chan *ending // nil: nobody helps
	helpers sync.WaitGroup
	asked   sync.WaitGroup // endings that helpers have

	mu    sync.Mutex
	first map[broke]int // the number of the first ending known to break it
}

// ending is one way in which schedules end.
type ending struct {
	n      int
	chosen []Choice // the first schedule that ends so
	runs   int      // schedules of this level that end so
	broken []broke
	found  []Violation // what no earlier one was known to break
	text   string      // the outcome in words
}

// broke is an invariant that a run violates, and whether the coordinator had said
// that it keeps it.
type broke struct {
	invariant  string
	guaranteed bool
}

func newVerdicts(cfg *Config) *verdicts {
	return &verdicts{cfg: cfg, judged: map[digest]*ending{}, texts: map[string]bool{}, first: map[broke]int{}}
}

// queued is how many endings may wait for a helper; beyond it the search judges, too.
const queued = 256

// help has other cores judge, until stop.
func (v *verdicts) help() (stop func()) {
	if v.cfg.Cores < 2 {
		return func() {}
	}
	v.jobs = make(chan *ending, queued)
	for range v.cfg.Cores - 1 {
		own := *v.cfg
		own.lanes = nil
		v.helpers.Go(func() {
			defer own.free()
			for e := range v.jobs {
				v.examine(&own, e)
				v.asked.Done()
			}
		})
	}
	return func() { close(v.jobs); v.helpers.Wait() }
}

// judge judges the schedule that has just ended, unless one that ended the same way
// has been judged already.
func (v *verdicts) judge(w *world) {
	h := w.ending()
	e := v.judged[h]
	if e == nil {
		e = &ending{n: len(v.judged), chosen: slices.Clone(w.chosen)}
		v.judged[h] = e
		v.fresh = append(v.fresh, e)
		v.ask(e)
	}
	e.runs++
}

// ask has a helper examine it, or does so itself if none has the time.
func (v *verdicts) ask(e *ending) {
	if v.jobs != nil {
		v.asked.Add(1)
		select {
		case v.jobs <- e:
			return
		default:
			v.asked.Done()
		}
	}
	v.examine(v.cfg, e)
}

// examine runs the schedule again with everything recorded, and notes what it breaks.
func (v *verdicts) examine(cfg *Config, e *ending) {
	w, h := record(cfg, e.chosen)
	e.text = w.outcome()
	for _, f := range check.Judge(h) {
		if f.Verdict != check.Violated {
			continue
		}
		b := broke{f.Invariant, cfg.guaranteed(f.Invariant, w.seen)}
		e.broken = append(e.broken, b)
		if v.isFirst(b, e.n) {
			e.found = append(e.found, Violation{Invariant: f.Invariant, Guaranteed: b.guaranteed, Because: f.Because,
				Schedule: cfg.scheduleOf(f.Invariant, w.steps)})
		}
	}
	e.chosen = nil
}

func (v *verdicts) isFirst(b broke, n int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if before, known := v.first[b]; known && before < n {
		return false
	}
	v.first[b] = n
	return true
}

// enter waits for the judges and puts what is new into a result: of each violation the
// first schedule, whoever judged it when.
func (v *verdicts) enter(r *Result) {
	v.asked.Wait()
	for _, e := range v.fresh {
		r.Judged++
		if !v.texts[e.text] {
			v.texts[e.text] = true
			r.Outcomes = append(r.Outcomes, e.text)
		}
		for i, f := range e.found {
			if v.first[broke{f.Invariant, f.Guaranteed}] == e.n {
				r.Found = append(r.Found, e.found[i])
			}
		}
		e.found, e.text = nil, ""
	}
	v.fresh = v.fresh[:0]
}

// violating is how many schedules violated something since it was last asked.
func (v *verdicts) violating() (n int) {
	for _, e := range v.judged {
		if len(e.broken) > 0 {
			n += e.runs
		}
		e.runs = 0
	}
	return n
}

// recorded is a world of which everything is recorded. Nothing bounds it: what is
// chosen was affordable.
func recorded(cfg *Config) *world {
	w := newWorld(cfg, func(w *world) *history.Recorder { return history.NewRecorder(header(cfg), virtual{w}) })
	w.begin(budget{free, free, free, free, free})
	return w
}

// record makes the chosen schedule and takes its history.
func record(cfg *Config, chosen []Choice) (*world, *history.History) {
	w := recorded(cfg)
	defer w.bury()
	for _, c := range chosen {
		w.take(c)
	}
	w.closed()
	return w, w.rec.History()
}

func header(cfg *Config) history.Header {
	c := cfg.Coordinator
	return history.Header{Schema: history.Schema, Scenario: "explore", Target: cfg.Entry.Name, Policy: string(cfg.policy()),
		LeaseMS: c.Lease.Milliseconds(), RetentionMS: c.Retention.Milliseconds(), HonoursKeys: cfg.HonoursKeys,
		Inspected: true, Marker: true, Releases: true}
}

// outcome is how a schedule ended, in words: the same words, the same outcome.
func (w *world) outcome() string {
	var parts []string
	for _, a := range w.actors {
		switch {
		case a.dead:
			parts = append(parts, a.name+" died")
		default:
			r := a.answer()
			words := slices.DeleteFunc([]string{a.name, r.Answer, r.Source, r.Charge}, func(s string) bool { return s == "" })
			parts = append(parts, strings.Join(words, " "))
		}
	}
	for i, c := range w.ledger {
		parts = append(parts, chargeID(i+1)+" for "+c.ref)
	}
	return strings.Join(parts, "; ")
}
