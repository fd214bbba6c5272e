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
// by itself; while somebody could, that he does not is one of the expiries. The end
// of a claim can be jumped to, past everything that would have come before.
func (w *world) ofClock(buf []Choice) []Choice {
	hasten := w.left.expiries > 0
	if !hasten && len(buf) > 0 || !w.awaited() {
		return buf
	}
	_, kind := w.nextDeadline()
	if kind != nothing && (hasten || w.idle()) {
		buf = append(buf, Choice{Actor: theClock})
	}
	if _, _, found := w.ends(); found && kind == moment && hasten {
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
	for i, k := range a.keeps {
		if !k.over && w.now >= k.due {
			buf = append(buf, Choice{Actor: a.id, Call: i + 1})
		}
	}
	step := Choice{Actor: a.id}
	if w.left.preemptions <= 0 && w.preempts(step) {
		w.cut = true
		return buf
	}
	if !a.waiting() {
		buf = append(buf, step)
	}
	if a.op.Kind == Commit && a.ctx.Err() != nil {
		buf = append(buf, Choice{Actor: a.id, Act: Leave})
	}
	return buf
}

// tooEarly: of clients that are all alike it does not matter which is first, so they
// start in order.
func (w *world) tooEarly(a *actor) bool {
	return !w.cfg.NoSymmetry && !a.began && a.id > 0 && !w.actors[a.id-1].began && w.cfg.alike(a.id-1, a.id)
}

// harm adds the faults, crashes and departures that the budget has left: each of a
// step that could be made now.
func (w *world) harm(buf []Choice) []Choice {
	if w.left.faults > 0 {
		for _, c := range buf[:len(buf):len(buf)] {
			if !c.plain() {
				continue
			}
			switch k := w.actors[c.Actor].op.Kind; {
			case k.store():
				buf = append(buf, Choice{Actor: c.Actor, Act: FailBefore}, Choice{Actor: c.Actor, Act: LoseReply})
			case k == Commit:
				last := HideCharge
				if w.calls[w.actors[c.Actor].op.call-1].first > 0 {
					last = FailCall // it executes nothing: only its connection can fail
				}
				for how := ChargeLost; how <= last; how++ {
					buf = append(buf, Choice{Actor: c.Actor, Act: how})
				}
			}
		}
	}
	for _, a := range w.actors {
		if w.left.crashes > 0 && a.live() && a.began {
			buf = append(buf, Choice{Actor: a.id, Act: Crash})
		}
		if w.left.hangUps > 0 && a.live() && a.began && !a.left {
			buf = append(buf, Choice{Actor: a.id, Act: HangUp})
		}
	}
	return buf
}

// label is a choice as it is written down.
func (w *world) label(c Choice) Step {
	switch c.Actor {
	case theClock:
		return Step{Who: "clock", What: w.moment(c)}
	case theProvider:
		return Step{Who: provider, What: "commit of " + w.calls[c.Call-1].by.name, How: c.Act.String()}
	}
	a := w.actors[c.Actor]
	s := Step{Who: a.name, What: a.op.label(), How: c.Act.String()}
	switch {
	case c.Act == Go && c.Call > 0:
		s.What = "renew"
	case c.Act == Crash, c.Act == HangUp:
		s.What = "before " + a.op.label()
	}
	return s
}

// moment says what a tick ends.
func (w *world) moment(c Choice) string {
	_, kind := w.nextDeadline()
	if _, final, found := w.ends(); c.Call > 0 && found {
		kind = leaseEnd
		if final {
			kind = finalEnd
		}
	}
	return [...]string{"tick", "tick", "lease ends", "result ends"}[kind]
}
