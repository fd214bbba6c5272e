package explore

// choices lists what can happen next, the current client first: so the first
// schedule that is tried runs each client to its end.
func (w *world) choices(buf []Choice) []Choice {
	buf = buf[:0]
	if w.current >= 0 {
		buf = w.ofActor(buf, w.actors[w.current])
	}
	for i, a := range w.actors {
		if i != w.current {
			buf = w.ofActor(buf, a)
		}
	}
	for i := range w.calls {
		if c := &w.calls[i]; c.left && !c.over {
			buf = append(buf, Choice{Actor: theProvider, Call: i + 1})
		}
	}
	return w.harm(w.ofClock(buf))
}

// ofClock adds how time can go on. When nobody can move it goes to the next deadline
// by itself; while somebody could, that he does not is one of the expiries. A lease's
// end can be jumped to, past everything that would have come before.
func (w *world) ofClock(buf []Choice) []Choice {
	if !w.awaited() {
		return buf
	}
	_, lease, ok := w.nextDeadline()
	if ok && (len(buf) == 0 || w.left.expiries > 0) {
		buf = append(buf, Choice{Actor: theClock})
	}
	if _, found := w.store.LeaseEnds(); found && !lease && w.left.expiries > 0 {
		buf = append(buf, Choice{Actor: theClock, Call: 1})
	}
	return buf
}

// idle: nobody can move.
func (w *world) idle() bool {
	for _, a := range w.actors {
		if a.live() && !a.waiting() {
			return false
		}
	}
	return true
}

// awaited: somebody is still there for whom time can change something.
func (w *world) awaited() bool {
	for _, a := range w.actors {
		if a.live() {
			return true
		}
	}
	return false
}

// ofActor adds a client's own steps, if the budget lets it run.
func (w *world) ofActor(buf []Choice, a *actor) []Choice {
	if !a.live() || w.tooEarly(a) {
		return buf
	}
	step := Choice{Actor: a.id}
	if w.preempts(step) && w.left.preemptions <= 0 {
		return buf
	}
	if a.op.Kind == Commit && a.ctx.Err() != nil {
		buf = append(buf, Choice{Actor: a.id, Act: Leave})
	}
	if !a.waiting() {
		buf = append(buf, step)
	}
	for i, k := range a.keeps {
		if !k.over && w.now >= k.due {
			buf = append(buf, Choice{Actor: a.id, Call: i + 1})
		}
	}
	return buf
}

// tooEarly: of clients that are all alike it does not matter which is first, so they
// start in order.
func (w *world) tooEarly(a *actor) bool {
	return !w.cfg.NoSymmetry && a.op.Kind == Start && a.id > 0 && w.actors[a.id-1].live() &&
		w.actors[a.id-1].op.Kind == Start && w.cfg.alike(a.id-1, a.id)
}

// harm adds the faults and crashes that the budget has left: each of a step that
// could be made now.
func (w *world) harm(buf []Choice) []Choice {
	for _, c := range buf {
		if c.Actor < 0 || c.Act != Go || c.Call > 0 {
			continue
		}
		a := w.actors[c.Actor]
		if w.left.faults > 0 {
			switch {
			case a.op.Kind.store():
				buf = append(buf, Choice{Actor: c.Actor, Act: FailBefore}, Choice{Actor: c.Actor, Act: LoseReply})
			case a.op.Kind == Commit:
				buf = append(buf, Choice{Actor: c.Actor, Act: ChargeLost}, Choice{Actor: c.Actor, Act: FailCall})
			}
		}
	}
	if w.left.crashes > 0 {
		for _, a := range w.actors {
			if a.live() && a.began {
				buf = append(buf, Choice{Actor: a.id, Act: Crash})
			}
		}
	}
	return buf
}

// label is a choice as it is written down.
func (w *world) label(c Choice) Step {
	switch c.Actor {
	case theClock:
		if w.endsLease(c) {
			return Step{Who: "clock", What: "lease ends"}
		}
		return Step{Who: "clock", What: "tick"}
	case theProvider:
		return Step{Who: "provider", What: "commit of " + w.calls[c.Call-1].by.name, How: c.Act.String()}
	}
	a := w.actors[c.Actor]
	s := Step{Who: a.name, What: a.op.label(), How: c.Act.String()}
	if c.Act == Go && c.Call > 0 {
		s.What = "renew"
	}
	if c.Act == Crash {
		s.What = "before " + a.op.label()
	}
	return s
}
