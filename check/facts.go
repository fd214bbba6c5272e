package check

import (
	"slices"
	"strings"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/store"
)

// The small facts that laws are made of.

func (a *attempt) id() id { return id{a.send.Tenant, a.send.Operation, a.send.Key} }

// scope is the id without its key.
func (a *attempt) scope() id { return id{tenant: a.send.Tenant, operation: a.send.Operation} }

func (a *attempt) ok() bool { return a.answer.Answer == history.OK }

func (a *attempt) answered(words ...string) bool { return slices.Contains(words, a.answer.Answer) }

// refused: told, in a way it may rely on, that nothing was done.
func (a *attempt) refused() bool {
	return a.answered(history.Declined, history.KeyReused, history.InvalidKey)
}

// final: told what came of it, for good.
func (a *attempt) final() bool { return a.ok() || a.refused() }

// left: the client did not stay for the answer.
func (a *attempt) left() bool { return a.up.Seq > 0 || a.answered(history.HungUp) }

// executed returns the first sign that the attempt acted; Seq 0 if there is none.
func (a *attempt) executed() history.Event {
	var first history.Event
	for _, c := range a.calls {
		first = earlier(first, c.arrive)
	}
	for _, r := range a.runs {
		first = earlier(first, r.run)
	}
	return first
}

// lastSign is the attempt's last event of any kind: until then it was alive.
func (a *attempt) lastSign() history.Event {
	last := later(later(a.send, a.answer), a.up)
	for _, c := range a.calls {
		last = later(last, later(c.arrive, c.reply))
	}
	for _, r := range a.runs {
		last = later(last, later(r.run, r.ran))
	}
	for _, o := range a.ops {
		last = later(last, later(o.call, o.ret))
	}
	return last
}

func earlier(a, b history.Event) history.Event {
	if a.Seq == 0 || b.Seq > 0 && b.Seq < a.Seq {
		return b
	}
	return a
}

func later(a, b history.Event) history.Event {
	if b.Seq > a.Seq {
		return b
	}
	return a
}

// end is when the attempt was over for its client; Seq beyond the history if never.
func (v *view) end(a *attempt) history.Event {
	if a.answer.Seq > 0 {
		return a.answer
	}
	return v.last()
}

// last is a moment after everything.
func (v *view) last() history.Event {
	e := history.Event{Seq: len(v.events) + 1}
	if n := len(v.events); n > 0 {
		e.At = v.events[n-1].At
	}
	return e
}

// failed: the store did not do it, or nobody can know. Waits and renewals are
// left out: they end with errors in the course of nature.
func (o *op) failed() bool {
	switch o.call.Op {
	case history.OpAwait, history.OpKeep, history.OpRenew:
		return false
	}
	return o.ret.Seq == 0 || o.ret.Err != ""
}

// asks: the operation that an implementation begins with: whose is the key?
func (o *op) asks() bool {
	return o.call.Op == history.OpClaim || o.call.Op == history.OpGet || o.call.Op == history.OpSetNX
}

// storeFailed: some operation of the attempt failed or never came back.
func (a *attempt) storeFailed() bool { return slices.ContainsFunc(a.ops, (*op).failed) }

// finalises: the operation surely left a final record of its own.
func (o *op) finalises() bool {
	switch o.call.Op {
	case history.OpSettle, history.OpSet, history.OpSetNX:
		return o.ret.Applied && o.ret.Err == "" && o.call.State == string(store.Done)
	}
	return false
}

func storeFault(e history.Event) bool {
	return e.Kind == history.Fault && strings.HasPrefix(e.Op, "store-")
}

// storeDisturbed: the scenario had touched the store before the moment.
func (v *view) storeDisturbed(before history.Event) bool {
	return slices.ContainsFunc(v.faults, func(e history.Event) bool { return storeFault(e) && e.Seq < before.Seq })
}

// stray is the last sign of the ref's calls of which nobody knows whose they are,
// and whether one of them is still open.
func (l *logical) stray() (last history.Event, open bool) {
	for _, c := range l.calls {
		if c.attempt == nil {
			last = later(last, later(c.arrive, c.reply))
			open = open || c.reply.Seq == 0
		}
	}
	return last, open
}

// killed: the attempt's worker was killed before it could answer.
func (v *view) killed(a *attempt) bool {
	return slices.ContainsFunc(v.faults, func(e history.Event) bool {
		return e.Op == "worker-kill" && e.Worker == a.send.Worker && e.Seq > a.send.Seq && e.Seq < v.end(a).Seq
	})
}

// standing: not voided by the end.
func (c *charge) standing() bool { return c.void.Seq == 0 }

func (c *charge) standingAt(e history.Event) bool {
	return c.commit.Seq < e.Seq && (c.void.Seq == 0 || c.void.Seq > e.Seq)
}

// began is the arrival of the call that made the charge.
func (c *charge) began() history.Event {
	if c.call != nil {
		return c.call.arrive
	}
	return c.commit
}

func (c *charge) attempt() *attempt {
	if c.call == nil {
		return nil
	}
	return c.call.attempt
}

// sameRequest: one request as the profile sees it. A ref is one key with one
// payload; where fingerprints are known, equal ones are one request too.
func sameRequest(a, b *attempt) bool {
	return a.send.Ref == b.send.Ref || a.send.Fingerprint != "" && a.send.Fingerprint == b.send.Fingerprint
}
