package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/store"
)

func claimLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "claim/fenced",
			Predicate: "After ownership of a claim has moved, nothing that the former owner writes is applied.",
			Why:       "A late worker wipes out the result or the claim of the one who took over, and a third one charges.",
			Applies:   inspected}, fenced),
		law(Invariant{ID: "claim/mortal",
			Predicate: "A claim can be taken over no later than its lease's end.",
			Why:       "A worker dies, and the order can never be paid again.",
			Applies:   inspected}, mortal),
		law(Invariant{ID: "claim/recovers",
			Predicate: "Once every claim on a key is settled or its lease has ended, a client that retries is no longer told to wait.",
			Why:       "The customer retries for a day and is told each time that it is being worked on.",
			Applies:   anyDuplicate}, recovers),
	}
}

func inspected(h *history.History) bool { return h.Header.Inspected }

// claimSlack is what a lease may seem longer than declared: rounding to whole
// seconds on some stores.
const claimSlack = time.Second

// holder is who surely owns a name at a point of the history.
type holder struct {
	op    *op // the claim that won
	freed bool
}

// fenced walks through the store's operations in order. It judges a write only
// when the new owner's claim had returned before the write was called, and the
// new owner had not given the claim back before the write returned: calls that
// cross are nobody's proof.
func fenced(v *view) *Violation {
	owners := map[string]*holder{}
	former := map[string]map[*attempt]*op{} // name → who owned it before, by which claim
	against := map[int]*holder{}            // call → the foreign owner it met
	for _, e := range v.events {
		o := v.byOp[e.Call]
		switch {
		case e.Kind == history.Fault:
			forget(owners, e)
		case o == nil || o.attempt == nil:
		case e.Kind == history.StoreCall && e.Seq == o.call.Seq:
			meet(owners[e.Name], former[e.Name], o, against)
		case e.Kind == history.StoreReturn && e.Seq == o.ret.Seq:
			h := against[e.Call]
			if h != nil && !h.freed && writes(o) && v.lives.one(h.op.ret, e) {
				return v.late(o, h.op, former[o.call.Name][o.attempt])
			}
			own(owners, former, o)
		}
	}
	return nil
}

// forget: ended leases delete the claims of plain commands; and what a store
// has lost nobody owns.
func forget(owners map[string]*holder, e history.Event) {
	switch e.Op {
	case "end-leases":
		for _, h := range owners {
			if h.op.call.Op != history.OpClaim && h.op.call.State == string(store.Pending) {
				h.freed = true
			}
		}
	case "set-expiry", "store-restart":
		for name, h := range owners {
			h.freed = true
			delete(owners, name)
		}
	}
}

// meet notes that a former owner's write was called while another owns the name,
// and that an owner may be giving the name back.
func meet(h *holder, former map[*attempt]*op, o *op, against map[int]*holder) {
	if h == nil || !mutates(o.call.Op) {
		return
	}
	if h.op.attempt == o.attempt {
		free := o.call.Op == history.OpDelete || o.call.Op == history.OpSettle && o.call.State != string(store.Done)
		h.freed = h.freed || free
		return
	}
	if former[o.attempt] != nil && !h.freed && !expired(h.op, o.call) {
		against[o.call.Call] = h
	}
}

func mutates(name string) bool {
	switch name {
	case history.OpSettle, history.OpSet, history.OpExpire, history.OpDelete, history.OpRenew:
		return true
	}
	return false
}

// expired: a plain claim lives as long as its own expiry.
func expired(claim *op, now history.Event) bool {
	ttl := claim.call.TTLMS
	return claim.call.Op != history.OpClaim && ttl > 0 && now.At-claim.ret.At >= time.Duration(ttl)*time.Millisecond-lifeSlack
}

// writes: the operation changed the record. A plain SET of a pending marker is a
// claim, of whatever kind, not a late write.
func writes(o *op) bool {
	return o.ret.Err == "" && o.ret.Applied && !(o.call.Op == history.OpSet && o.call.State == string(store.Pending))
}

// own moves ownership when a claim has returned.
func own(owners map[string]*holder, former map[string]map[*attempt]*op, o *op) {
	if !claims(o) {
		return
	}
	name := o.call.Name
	if former[name] == nil {
		former[name] = map[*attempt]*op{}
	}
	former[name][o.attempt] = o
	if h := owners[name]; h != nil {
		if h.op.attempt == o.attempt || h.op.ret.Fence > o.ret.Fence {
			return // claimed again, or an older claim's return that comes late
		}
		if o.call.Op == history.OpClaim && h.op.ret.Fence == o.ret.Fence {
			delete(owners, name) // two claims of one rank: nothing is certain
			return
		}
		h.freed = true
	}
	owners[name] = &holder{op: o}
}

// claims: the operation surely made its attempt the owner.
func claims(o *op) bool {
	if o.ret.Err != "" {
		return false
	}
	switch o.call.Op {
	case history.OpClaim:
		return o.ret.Mine
	case history.OpSetNX, history.OpSet:
		return o.ret.Applied && o.call.State == string(store.Pending)
	}
	return false
}

func (v *view) late(o, claim, old *op) *Violation {
	return violation([]history.Event{old.ret, claim.ret, o.call, o.ret},
		"%s had claimed the key %s and %s had taken it over %s, yet %s of %s was applied %s",
		v.who(o.attempt), at(old.ret), v.who(claim.attempt), at(claim.ret), writeWords(o), v.who(o.attempt), at(o.ret))
}

func writeWords(o *op) string {
	switch o.call.Op {
	case history.OpSettle:
		return fmt.Sprintf("the settlement (%s)", o.call.State)
	case history.OpSet:
		return "the result"
	case history.OpExpire, history.OpRenew:
		return "the renewal"
	}
	return "the release"
}

func mortal(v *view) *Violation {
	for _, r := range v.records {
		if why := v.immortal(r); why != "" {
			return violation([]history.Event{r}, "the claim on %s, seen %s, %s", quoted(r.Name), at(r), why)
		}
	}
	if bad := v.longLease(); bad != nil {
		return bad
	}
	return v.endless()
}

// immortal says why a pending record outlives its lease, "" if it does not. A
// record of the reservation's store (it has a fence) may outlive its lease, and
// must say when that ends; a plain value has its own expiry for a lease.
func (v *view) immortal(r history.Event) string {
	if r.State != string(store.Pending) && r.State != string(store.Unknown) {
		return ""
	}
	declared := v.header.LeaseMS
	left := r.LeaseMS
	if r.Fence == 0 && r.Token == "" {
		left = r.TTLMS
	}
	switch {
	case r.TTLMS < 0:
		return "has no expiry: if its owner dies, it stays for ever"
	case declared > 0 && left > declared+claimSlack.Milliseconds():
		return fmt.Sprintf("holds for another %s, and the lease is %s", span(left), span(declared))
	}
	return ""
}

// longLease finds a claim that was asked for longer than the declared lease.
func (v *view) longLease() *Violation {
	declared := v.header.LeaseMS
	if declared == 0 {
		return nil
	}
	for _, o := range v.ops {
		asked := o.call.LeaseMS
		if o.call.Op != history.OpClaim && o.call.Op != history.OpKeep {
			asked = o.call.TTLMS
		}
		if (claims(o) || o.call.Op == history.OpKeep) && asked > declared+claimSlack.Milliseconds() {
			return violation([]history.Event{o.call, o.ret}, "%s claimed the key %s for %s, and the lease is %s: if its worker dies, nobody can take over in time",
				v.who(o.attempt), at(o.call), span(asked), span(declared))
		}
	}
	return nil
}

// endless finds a plain claim without an expiry that nobody gave one before the
// leases ended or the history did.
func (v *view) endless() *Violation {
	open := map[string]*op{}
	for _, e := range v.events {
		o := v.byOp[e.Call]
		switch {
		case e.Kind == history.Fault && e.Op == "end-leases" && len(open) > 0:
			return v.undying(open)
		case o == nil || e.Kind != history.StoreReturn || e.Seq != o.ret.Seq:
		case (o.call.Op == history.OpSetNX || o.call.Op == history.OpSet) && claims(o) && o.call.TTLMS == 0:
			open[o.call.Name] = o
		case mutates(o.call.Op):
			delete(open, o.call.Name)
		}
	}
	if len(open) > 0 {
		return v.undying(open)
	}
	return nil
}

// undying takes the first of several, so that a history has one sentence.
func (v *view) undying(open map[string]*op) *Violation {
	var first *op
	for _, o := range open {
		if first == nil || o.call.Seq < first.call.Seq {
			first = o
		}
	}
	return violation([]history.Event{first.call, first.ret}, "%s claimed the key %s without an expiry, and nothing ever gave it one: whoever dies now blocks it for ever",
		v.who(first.attempt), at(first.call))
}

// recovers counts who may hold a claim as answer/in-progress-true does, but lets
// leases end: by command, or when their time has passed.
func recovers(v *view) *Violation {
	for _, k := range v.keys {
		a, _ := v.unheld(k, 1, v.freeBy)
		if a != nil {
			last := v.lastRelease(k, a)
			return violation([]history.Event{last, a.send, a.answer}, `%s, sent %s, was told "in progress" %s, though nobody was at work any more: %s`,
				v.who(a), at(a.send), at(a.answer), v.releaseWords(k, a, last))
		}
	}
	return nil
}

// recoverSlack covers clocks that run at different rates, no more: a lease began
// before its attempt's last sign of life, and is read after the retry was sent.
const recoverSlack = 20 * time.Millisecond

// freeBy is the position from which on the attempt surely holds no claim.
func (v *view) freeBy(x *attempt) int {
	if v.clean(x) {
		return x.answer.Seq
	}
	stray, open := v.logical(x.send.Ref).stray()
	last := later(x.lastSign(), stray)
	if v.killed(x) {
		last = later(x.lastWrite(), v.killOf(x)) // what is heard of the dead later holds no claim
	} else if open || x.alive() {
		return never // it may renew
	}
	free := never
	if v.header.LeaseMS > 0 {
		end := last.At + time.Duration(v.header.LeaseMS)*time.Millisecond + recoverSlack
		free = v.firstAt(end)
	}
	for _, f := range v.faults {
		if f.Op == "end-leases" && f.N > 0 && f.Seq > last.Seq {
			return min(free, f.Seq)
		}
	}
	return free
}

// alive: for all one knows, it is still at work when the history ends.
func (a *attempt) alive() bool {
	return a.answer.Seq == 0 && a.up.Seq == 0 ||
		slices.ContainsFunc(a.runs, func(r *run) bool { return r.ran.Seq == 0 }) ||
		slices.ContainsFunc(a.calls, func(c *call) bool { return c.reply.Seq == 0 })
}

// lastWrite is the return of the attempt's last store operation: one under way when
// its worker dies is still applied.
func (a *attempt) lastWrite() history.Event {
	var last history.Event
	for _, o := range a.ops {
		last = later(last, o.ret)
	}
	return last
}

func (v *view) killOf(x *attempt) history.Event {
	for _, f := range v.killedWorkers() {
		if f.Worker == x.send.Worker && f.Seq > x.send.Seq {
			return f
		}
	}
	return history.Event{}
}

// lastRelease is the end of leases that came last before the attempt, or the
// last answer of another.
func (v *view) lastRelease(k *keyed, a *attempt) history.Event {
	var last history.Event
	for _, x := range k.attempts {
		if x != a && x.answer.Seq > 0 && x.answer.Seq < a.send.Seq {
			last = later(last, x.answer)
		}
	}
	for _, f := range v.faults {
		if f.Op == "end-leases" && f.Seq < a.send.Seq {
			last = later(last, f)
		}
	}
	return last
}

// releaseWords says why no claim was held any more when a was sent.
func (v *view) releaseWords(k *keyed, a *attempt, last history.Event) string {
	switch {
	case last.Kind == history.Fault:
		return "the last lease had been ended " + at(last)
	case last.Kind == history.Answer && (last.Answer == history.OK || !v.lapsed(k, a)):
		return v.told(v.attempt(last.Attempt)) + " " + at(last)
	}
	return "the last lease had run out"
}

// lapsed: an earlier attempt may have left a claim behind, which ended by its
// lease alone.
func (v *view) lapsed(k *keyed, a *attempt) bool {
	return slices.ContainsFunc(k.attempts, func(x *attempt) bool {
		return x != a && x.send.Seq < a.send.Seq && !v.clean(x)
	})
}
