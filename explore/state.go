package explore

import (
	"cmp"
	"slices"
)

// What a state is told by. Clients that send the same may stand for each other, so
// nothing here is told by a client's name: tokens and calls go by the order in which
// the store and the provider first met them, a client by what it has seen, and what
// is of clients is added up. Only where that is switched off has each an index.

// symmetric: clients that send the same are told apart by what they do alone. One that
// has hung up goes on behind its client's back, and what is "finished" is not final
// there, so they keep their indexes. So they do in samples, where which schedule is the
// first to end in a way depends on who makes them.
func (c *Config) symmetric() bool {
	return !c.NoSymmetry && c.HangUps == 0 && c.Strategy == Exhaustive
}

// class is what is known of a client before it begins.
func (c *Config) class(i int) uint64 {
	switch {
	case !c.symmetric():
		return uint64(i) + 3
	case c.Payloads && i == c.Clients-1:
		return 2
	}
	return 1
}

// grant numbers a token when the store first gives something to it.
func (w *world) grant(token string) {
	if token != "" && w.number(token) == 0 {
		w.granted = append(w.granted, token)
	}
}

// number is a token's, from 1; 0 if the store has not met it.
func (w *world) number(token string) uint64 { return uint64(slices.Index(w.granted, token) + 1) }

// join puts one more into a set, whose members have no order.
func (d *digest) join(member digest) {
	member.one(1)
	d.a, d.b = d.a+member.a, d.b+member.b
}

// finished is the set of those clients: what they have seen is final.
func (w *world) finished() digest {
	return w.set(finished, func(a *actor) digest { return a.hash })
}

func (w *world) set(is func(*actor) bool, as func(*actor) digest) (d digest) {
	for _, a := range w.actors {
		if is(a) {
			d.join(as(a))
		}
	}
	return d
}

// kind is a client by what it sends.
func kind(a *actor) (d digest) {
	d.one(a.w.cfg.class(a.id))
	return d
}

// caller is a client by its last call.
func caller(a *actor) (d digest) {
	for i := len(a.w.calls); i > 0; i-- {
		if a.w.calls[i-1].by == a {
			d.one(uint64(i))
			return d
		}
	}
	return kind(a)
}

// finished: its client has an answer, or will never have one.
func finished(a *actor) bool { return a.phase >= answered || a.left }

// doubtful: somebody knows that its outcome is unknown.
func doubtful(a *actor) bool { return a.doubt }

// open: its call is under way at the provider.
func open(a *actor) bool {
	return slices.ContainsFunc(a.w.calls, func(c call) bool { return c.by == a && !c.over })
}

// at is a set of clients that have come as far as that.
func at(phase uint64) func(*actor) bool { return func(a *actor) bool { return a.phase >= phase } }

// precedence is what the order of steps tells of a client's new phase, and no reply
// does. Laws ask which requests were sent, and answered, before another was sent; which
// calls were open, and which were known to be in doubt, when one arrived; whether a
// failure was answered before or after the other answers and the charges. Where
// payloads differ they ask who was first.
func (w *world) precedence(a *actor, p uint64) (d digest) {
	switch p {
	case sent:
		d = w.finished()
		if w.cfg.Payloads {
			d.join(w.set(at(sent), kind))
			d.join(w.set(at(running), kind))
		}
		if w.cfg.HangUps > 0 { // did the retry come after the charge?
			d.one(uint64(len(w.ledger)))
		}
	case running:
		if w.cfg.Payloads {
			d = w.finished()
			d.join(w.set(at(running), kind))
		}
	case arrived:
		d = w.set(open, caller)
		d.join(w.set(doubtful, caller))
	case answered:
		if !a.refused {
			return w.set(func(o *actor) bool { return o.refused }, func(o *actor) digest { return o.hash })
		}
		d = w.finished()
		d.join(w.set(doubtful, caller))
		d.one(uint64(len(w.ledger)))
	}
	return d
}

// hash is the state, by which two prefixes are told to be one: the store, the
// ledger, the clock, what each client has seen and what is prepared for it, the
// order of what verdicts depend on, and what may still be chosen.
func (w *world) hash(bounded bool) digest {
	d := w.order
	d.add(uint64(w.now), uint64(w.left.faults), uint64(w.left.crashes), uint64(w.left.expiries), uint64(w.left.hangUps))
	if bounded {
		d.one(uint64(w.left.preemptions))
	}
	return w.content(d, bounded)
}

// ending is what a verdict depends on when all is over.
func (w *world) ending() digest { return w.content(w.order, false) }

// content adds to d what there is. Who made the last step counts if preemptions do.
func (w *world) content(d digest, current bool) digest {
	d.one(w.seen.bits())
	s := w.storeHash()
	d.add(s.a, s.b, uint64(len(w.ledger)))
	for i := range w.ledger {
		d.text(w.ledger[i].key)
		d.one(uint64(w.ledger[i].call))
	}
	for i := range w.calls {
		w.calls[i].state(&d)
	}
	w.parts = w.parts[:0]
	var all digest
	for _, a := range w.actors {
		p := a.part()
		if current && a.id == w.current {
			p.one(1)
		}
		w.parts = append(w.parts, p)
		all.join(p)
	}
	d.add(all.a, all.b)
	return d
}

// state folds a call; whose it is is in its client's part.
func (c *call) state(d *digest) {
	d.add(uint64(c.charge), uint64(c.first))
	for _, f := range [...]bool{c.err != nil, c.kept != nil, c.forgotten, c.over, c.left} {
		d.flag(f)
	}
	d.text(c.key)
}

// part is a client's share of the state: what it has seen and what is prepared for it,
// which tokens that the store knows are its own, and which calls.
func (a *actor) part() (d digest) {
	a.state(&d)
	for _, t := range a.tokens[:a.given] {
		d.one(a.w.number(t))
	}
	d.one(0)
	for i := range a.w.calls {
		if a.w.calls[i].by == a {
			d.one(uint64(i) + 1)
		}
	}
	return d
}

// canonical is a set of clients by the order of their parts, as content last made
// them: two states that are one but for who is who have it alike. Of clients whose
// parts are equal it does not matter who is in it.
func (w *world) canonical(set uint32) (out uint32) {
	if set == 0 || !w.cfg.symmetric() {
		return set
	}
	for i := range w.actors {
		if set&(1<<i) == 0 {
			continue
		}
		place := 0
		for j := range w.actors {
			if c := w.compare(i, j, set); c > 0 {
				place++
			}
		}
		out |= 1 << place
	}
	return out
}

// compare orders two clients by their parts; of equal ones those of the set come first.
func (w *world) compare(i, j int, set uint32) int {
	p, q := w.parts[i], w.parts[j]
	return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b), cmp.Compare(set>>j&1, set>>i&1), cmp.Compare(i, j))
}
