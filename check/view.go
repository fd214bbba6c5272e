package check

import "github.com/idemrace/idemrace/history"

// view is a history read once, in one pass, and kept by what belongs together.
// A zero Event (Seq 0) stands for one that never happened.
type view struct {
	header   history.Header
	events   []history.Event // Seq is the position from 1, whatever the file said
	attempts []*attempt      // in order of first mention
	byNumber map[int]*attempt
	keys     []*keyed
	byKey    map[id]*keyed
	refs     []*logical
	byRef    map[string]*logical
	calls    []*call
	byCall   map[int]*call
	charges  map[string]*charge
	ops      []*op
	byOp     map[int]*op
	faults   []history.Event
	records  []history.Event // as the Inspector saw them
	orphans  map[string]bool // charges reported as orphans
	settled  history.Event
	lives    lives
	clients  map[string]int // attempts per client, to tell them apart in sentences
}

// id is what a key is unique within.
type id struct{ tenant, operation, key string }

// keyed is all that was sent under one key.
type keyed struct {
	id       id
	attempts []*attempt
}

// logical is one logical operation: what a ref stands for.
type logical struct {
	ref      string
	attempts []*attempt
	calls    []*call
	charges  []*charge
	runs     []*run
}

type attempt struct {
	n                int
	ordinal          int // of its client
	send, answer, up history.Event
	runs             []*run
	calls            []*call
	ops              []*op
}

type run struct{ run, ran history.Event }

type call struct {
	attempt               *attempt // nil if not known
	arrive, commit, reply history.Event
}

type charge struct {
	id           string
	call         *call // nil if the history does not say
	commit, void history.Event
}

type op struct {
	attempt   *attempt // nil if not known
	call, ret history.Event
}

func newView(h *history.History) *view {
	v := &view{
		header: h.Header, events: append([]history.Event(nil), h.Events...),
		byNumber: map[int]*attempt{}, byKey: map[id]*keyed{}, byRef: map[string]*logical{}, byCall: map[int]*call{},
		charges: map[string]*charge{}, byOp: map[int]*op{}, orphans: map[string]bool{}, clients: map[string]int{},
	}
	for i := range v.events {
		v.events[i].Seq = i + 1
		v.add(v.events[i])
	}
	v.lives = newLives(v)
	return v
}

func (v *view) add(e history.Event) {
	switch e.Kind {
	case history.Send, history.Answer, history.HangUp:
		v.addClient(e)
	case history.Run, history.Ran:
		v.addRun(e)
	case history.StoreCall, history.StoreReturn:
		v.addOp(e)
	case history.Arrive, history.Commit, history.Reply, history.Void:
		v.addProvider(e)
	case history.Orphan:
		v.orphans[e.Charge] = true
	case history.Fault:
		v.faults = append(v.faults, e)
	case history.RecordSeen:
		v.records = append(v.records, e)
	case history.Settled:
		v.settled = e
	}
}

// attempt returns the attempt with number n, nil for 0: not known.
func (v *view) attempt(n int) *attempt {
	if n == 0 {
		return nil
	}
	a := v.byNumber[n]
	if a == nil {
		a = &attempt{n: n}
		v.byNumber[n] = a
		v.attempts = append(v.attempts, a)
	}
	return a
}

func (v *view) logical(ref string) *logical {
	l := v.byRef[ref]
	if l == nil {
		l = &logical{ref: ref}
		v.byRef[ref] = l
		v.refs = append(v.refs, l)
	}
	return l
}

func (v *view) addClient(e history.Event) {
	a := v.attempt(e.Attempt)
	switch {
	case a == nil:
	case e.Kind == history.Answer && a.answer.Seq == 0:
		a.answer = e
	case e.Kind == history.HangUp && a.up.Seq == 0:
		a.up = e
	case e.Kind == history.Send && a.send.Seq == 0:
		v.addSend(a, e)
	}
}

func (v *view) addSend(a *attempt, e history.Event) {
	a.send = e
	v.clients[e.Client]++
	a.ordinal = v.clients[e.Client]
	l := v.logical(e.Ref)
	l.attempts = append(l.attempts, a)
	k := v.byKey[a.id()]
	if k == nil {
		k = &keyed{id: a.id()}
		v.byKey[k.id] = k
		v.keys = append(v.keys, k)
	}
	k.attempts = append(k.attempts, a)
}

func (v *view) addRun(e history.Event) {
	a, l := v.attempt(e.Attempt), v.logical(e.Ref)
	if e.Kind == history.Run {
		r := &run{run: e}
		l.runs = append(l.runs, r)
		if a != nil {
			a.runs = append(a.runs, r)
		}
		return
	}
	if a == nil || len(a.runs) == 0 {
		return
	}
	if last := a.runs[len(a.runs)-1]; last.ran.Seq == 0 {
		last.ran = e
	}
}

func (v *view) addOp(e history.Event) {
	if e.Kind == history.StoreReturn {
		if o := v.byOp[e.Call]; o != nil && o.ret.Seq == 0 {
			o.ret = e
		}
		return
	}
	o := &op{attempt: v.attempt(e.Attempt), call: e}
	v.byOp[e.Call] = o
	v.ops = append(v.ops, o)
	if o.attempt != nil {
		o.attempt.ops = append(o.attempt.ops, o)
	}
}

func (v *view) addProvider(e history.Event) {
	c := v.byCall[e.Call]
	switch {
	case e.Kind == history.Void:
		if ch := v.charges[e.Charge]; ch != nil && ch.void.Seq == 0 {
			ch.void = e
		}
	case e.Kind == history.Arrive && c == nil:
		v.addCall(e)
	case e.Kind == history.Commit:
		v.addCharge(c, e)
	case e.Kind == history.Reply && c != nil && c.reply.Seq == 0:
		c.reply = e
	}
}

// only is the one attempt of the ref that can have made a call now, nil if there are
// several: over HTTP the provider is not told whose it is. Who has its answer makes
// no calls any more; of whom nobody has an answer, one never knows.
func (l *logical) only() *attempt {
	var only *attempt
	for _, a := range l.attempts {
		if a.answer.Seq > 0 && !a.left() && !a.answered(history.UnknownOutcome) {
			continue
		}
		if only != nil {
			return nil
		}
		only = a
	}
	return only
}

func (v *view) addCall(e history.Event) {
	c := &call{attempt: v.attempt(e.Attempt), arrive: e}
	v.byCall[e.Call] = c
	v.calls = append(v.calls, c)
	l := v.logical(e.Ref)
	l.calls = append(l.calls, c)
	if c.attempt == nil {
		c.attempt = l.only()
	}
	if c.attempt != nil {
		c.attempt.calls = append(c.attempt.calls, c)
	}
}

func (v *view) addCharge(c *call, e history.Event) {
	if v.charges[e.Charge] != nil {
		return
	}
	if c != nil && c.commit.Seq == 0 {
		c.commit = e
	}
	ch := &charge{id: e.Charge, call: c, commit: e}
	v.charges[e.Charge] = ch
	l := v.logical(e.Ref)
	l.charges = append(l.charges, ch)
}
