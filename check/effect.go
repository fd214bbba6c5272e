package check

import (
	"fmt"
	"slices"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/store"
)

func effectLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "effect/at-most-once",
			Predicate: "For each ref and kind of effect, at most one charge stands in the ledger.",
			Why:       "The customer pays twice for one order."}, atMostOnce),
		law(Invariant{ID: "effect/silent-duplicate",
			Predicate: "It never happens that two or more charges of one ref stand, that nobody reported as orphan or unknown, while all successful answers agree.",
			Why:       "The customer pays twice and no log, answer or alarm says so: only the ledger knows."}, silentDuplicate),
		law(Invariant{ID: "effect/accounted",
			Predicate: "When all is quiet, each charge is named by a successful answer, or voided, or reported as orphan or unknown.",
			Why:       "A charge that nobody knows of is neither delivered nor paid back.",
			Applies:   has(history.Settled)}, accounted),
		law(Invariant{ID: "effect/success-backed",
			Predicate: "A successful answer names one charge of its own ref that the ledger has, with the amount asked for, and that charge stands.",
			Why:       "The shop ships goods that nobody has paid for.",
			Applies:   hasAnswer(history.OK)}, successBacked),
		law(Invariant{ID: "effect/failure-unbacked",
			Predicate: "A definitive failure was not caused by an execution that charged; and if the last final answer is a failure, no charge stands.",
			Why:       "The client is told that it was not charged, pays another way, and has paid twice.",
			Applies:   hasAnswer(history.Declined, history.KeyReused, history.InvalidKey)}, failureUnbacked),
		law(Invariant{ID: "effect/no-overlap",
			Predicate: "Provider calls of one ref never overlap, unless they carry one and the same provider key.",
			Why:       "Two calls that run at once are two charges: nothing on the provider's side tells them apart from two orders."}, noOverlap),
		law(Invariant{ID: "effect/unknown-stays-unknown",
			Predicate: "After an unknown outcome at most one charge stands, and no definitive failure is answered while one stands.",
			Why:       "Who does not know whether he has charged must ask, not charge again.",
			Applies:   anyUnknown}, unknownStaysUnknown),
	}
}

// has applies a law to histories with an event of the kind.
func has(k history.Kind) func(*history.History) bool {
	return func(h *history.History) bool { return slices.ContainsFunc(h.Events, kind(k)) }
}

func hasAnswer(words ...string) func(*history.History) bool {
	return func(h *history.History) bool { return slices.ContainsFunc(h.Events, answer(words...)) }
}

// group is the charges of one ref and effect within one life of its key.
type group struct {
	of      *logical
	charges []*charge
}

// groups splits the charges of all refs.
func (v *view) groups() []group {
	var groups []group
	for _, l := range v.refs {
		open := map[string]int{} // effect → its latest group
		for _, c := range l.charges {
			i, known := open[c.commit.Effect]
			if known {
				last := groups[i].charges[len(groups[i].charges)-1]
				known = v.lives.one(last.commit, c.began())
			}
			if !known {
				i = len(groups)
				open[c.commit.Effect] = i
				groups = append(groups, group{of: l})
			}
			groups[i].charges = append(groups[i].charges, c)
		}
	}
	return groups
}

func (g group) standing() []*charge {
	var standing []*charge
	for _, c := range g.charges {
		if c.standing() {
			standing = append(standing, c)
		}
	}
	return standing
}

func atMostOnce(v *view) *Violation {
	for _, g := range v.groups() {
		if standing := g.standing(); len(standing) > 1 {
			return v.double(g, standing, "")
		}
	}
	return nil
}

// double is the sentence of two charges: who was told what, what the ledger
// says, and how it came to that.
func (v *view) double(g group, standing []*charge, moral string) *Violation {
	involved := v.involved(g, standing)
	var evidence []history.Event
	for _, c := range standing[:2] {
		evidence = append(evidence, c.began(), c.commit)
	}
	for _, a := range involved[:min(len(involved), 4)] {
		evidence = append(evidence, a.answer)
	}
	return violation(evidence, "%s, but the ledger has %s for one ref: %s%s%s",
		v.answers(involved), ledger(standing), v.meeting(standing[0], standing[1]), v.confessed(standing), moral)
}

// confessed names the charges that were reported as orphans: they stand, but
// somebody can void them.
func (v *view) confessed(standing []*charge) string {
	var orphans []string
	for _, c := range standing {
		if v.orphans[c.id] {
			orphans = append(orphans, c.id)
		}
	}
	switch len(orphans) {
	case 0:
		return ""
	case 1:
		return "; " + orphans[0] + " was reported as an orphan, but not voided"
	}
	return "; " + list(orphans) + " were reported as orphans, but not voided"
}

// involved is the attempts worth naming: who succeeded, and whose call charged.
func (v *view) involved(g group, standing []*charge) []*attempt {
	var all []*attempt
	for _, a := range g.of.attempts {
		made := slices.ContainsFunc(standing, func(c *charge) bool { return c.attempt() == a })
		if made || g.names(a) {
			all = append(all, a)
		}
	}
	return all
}

// meeting says how the call behind the second charge stood to the first.
func (v *view) meeting(a, b *charge) string {
	if b.began().Seq < a.began().Seq {
		a, b = b, a
	}
	first, second := a.attempt(), b.attempt()
	call, his := v.whose(second, "call"), v.whose(first, "call")
	if first != nil && first == second {
		call, his = "another call of "+v.who(first), "the first"
	}
	arrived := fmt.Sprintf("%s arrived %s", call, at(b.began()))
	if cause := v.cause(a, b); cause != "" {
		return arrived + ", " + cause
	}
	if end := v.replied(a.call); b.began().Seq < end.Seq {
		return fmt.Sprintf("%s, while %s was still running", arrived, short(his))
	}
	return fmt.Sprintf("%s, though %s had charged %s", arrived, short(his), at(a.commit))
}

// short turns "A's call" into "A's": the word was said before.
func short(whose string) string {
	if n := len(whose) - len("'s call"); n > 0 && whose[n:] == "'s call" {
		return whose[:n+2]
	}
	return whose
}

// cause is the fault between two calls that explains the second.
func (v *view) cause(a, b *charge) string {
	var cause string
	for _, f := range v.faults {
		if f.Seq > b.began().Seq {
			break
		}
		switch {
		case f.Op == "store-down":
			cause = "while the store was down"
		case f.Op == "store-up" && cause == "while the store was down":
			cause = ""
		case f.Seq < a.began().Seq:
		case f.Op == "worker-kill" && a.attempt() != nil && f.Worker == a.attempt().send.Worker:
			return fmt.Sprintf("after %s had been killed %s", v.whose(a.attempt(), "worker"), at(f))
		case f.Op == "end-leases" && f.N > 0:
			cause = fmt.Sprintf("after the lease of %s had ended %s", v.who(a.attempt()), at(f))
		}
	}
	return cause
}

func (v *view) replied(c *call) history.Event {
	if c == nil || c.reply.Seq == 0 {
		return v.last()
	}
	return c.reply
}

// reported: somebody who can act on it was told of the charge as orphan or
// unknown. A client that has left was told nothing.
func (v *view) reported(c *charge) bool {
	if v.orphans[c.id] {
		return true
	}
	a := c.attempt()
	if a == nil {
		return v.somebody(c, v.unsure)
	}
	return v.unsure(a) || slices.ContainsFunc(a.ops, func(o *op) bool {
		return o.call.Op == history.OpSettle && o.call.State == string(store.Unknown) && o.ret.Applied
	})
}

// unsure: the client knows that it does not know. Over HTTP an error is that, too.
func (v *view) unsure(a *attempt) bool {
	return a.answered(history.UnknownOutcome) || v.header.Remote && a.answered(history.Error)
}

// somebody: it is not known whose charge it is, but it may be that of such a one.
func (v *view) somebody(c *charge, such func(*attempt) bool) bool {
	return slices.ContainsFunc(v.logical(c.commit.Ref).attempts, such)
}

func silentDuplicate(v *view) *Violation {
	for _, g := range v.groups() {
		var silent []*charge
		for _, c := range g.standing() {
			if !v.reported(c) {
				silent = append(silent, c)
			}
		}
		if len(silent) > 1 && g.named() == 1 {
			return v.double(g, silent, g.silence())
		}
	}
	return nil
}

// silence says why no answer shows the second charge.
func (g group) silence() string {
	var named []string
	for _, a := range g.of.attempts {
		if g.names(a) {
			named = append(named, a.answer.Charge)
		}
	}
	if len(named) == 1 {
		return "; the only success names " + named[0] + ", so only the ledger shows it"
	}
	return "; the answers agree, so only the ledger shows it"
}

// names: the attempt succeeded, and its answer names a charge of the group.
func (g group) names(a *attempt) bool {
	return a.ok() && slices.ContainsFunc(g.charges, func(c *charge) bool { return c.id == a.answer.Charge })
}

// named is how many different charges the successful answers name.
func (g group) named() int {
	names := map[string]bool{}
	for _, a := range g.of.attempts {
		if g.names(a) {
			names[a.answer.Charge] = true
		}
	}
	return len(names)
}

func accounted(v *view) *Violation {
	named := map[string]bool{}
	for _, a := range v.attempts {
		if a.ok() {
			named[a.answer.Charge] = true
		}
	}
	for _, g := range v.groups() {
		for _, c := range g.charges {
			if !c.standing() || named[c.id] || v.reported(c) || v.forlorn(c) {
				continue
			}
			return violation([]history.Event{c.commit, answerOf(c.attempt()), v.settled},
				"%s charged %s %s, but when all was quiet no successful answer named it, and nobody had voided it or reported it%s",
				v.whose(c.attempt(), "call"), c.id, at(c.commit), v.but(c.attempt()))
		}
	}
	return nil
}

// forlorn: the client that caused the charge has no answer, and knows that it does
// not know.
func (v *view) forlorn(c *charge) bool {
	without := func(a *attempt) bool {
		return a.send.Seq > 0 && !a.ok() && (a.left() || a.answer.Seq == 0)
	}
	if a := c.attempt(); a != nil {
		return without(a)
	}
	return v.somebody(c, without)
}

func answerOf(a *attempt) history.Event {
	if a == nil {
		return history.Event{}
	}
	return a.answer
}

// but adds what the attempt was told.
func (v *view) but(a *attempt) string {
	if a == nil || a.answer.Seq == 0 {
		return ""
	}
	return "; " + v.told(a)
}

func successBacked(v *view) *Violation {
	for _, a := range v.attempts {
		if !a.ok() {
			continue
		}
		if why, c := v.unbacked(a); why != "" {
			evidence := []history.Event{a.send, a.answer}
			if c != nil {
				evidence = append(evidence, c.commit, c.void)
			}
			return violation(evidence, "%s %s, but %s", v.told(a), at(a.answer), why)
		}
	}
	return nil
}

// unbacked says why a success has no charge behind it, "" if it has one.
func (v *view) unbacked(a *attempt) (why string, c *charge) {
	c = v.charges[a.answer.Charge]
	switch {
	case a.answer.Charge == "":
		return "a success must name what was charged", nil
	case c == nil:
		return "the ledger has no such charge", nil
	case c.commit.Seq > a.answer.Seq:
		return fmt.Sprintf("the ledger has that charge only since %s", ms(c.commit.At)), c
	case a.send.Seq > 0 && c.commit.Ref != a.send.Ref:
		return fmt.Sprintf("that charge belongs to the ref %s, and %s had sent %s", quoted(c.commit.Ref), v.who(a), quoted(a.send.Ref)), c
	case a.send.Amount != 0 && a.send.Amount != c.commit.Amount:
		return fmt.Sprintf("that charge is over %d, and %s had asked for %d", c.commit.Amount, v.who(a), a.send.Amount), c
	case a.answer.Amount != 0 && a.answer.Amount != c.commit.Amount:
		return fmt.Sprintf("the answer says %d, and that charge is over %d", a.answer.Amount, c.commit.Amount), c
	case !c.standing():
		return fmt.Sprintf("that charge was voided %s", at(c.void)), c
	}
	return "", c
}

func failureUnbacked(v *view) *Violation {
	for _, a := range v.attempts {
		for _, c := range a.calls {
			if ch := v.charges[c.commit.Charge]; a.refused() && ch != nil && ch.standing() {
				return violation([]history.Event{c.commit, a.answer}, "%s %s, but its own call had charged %s %s",
					v.told(a), at(a.answer), ch.id, at(c.commit))
			}
		}
	}
	for _, g := range v.groups() {
		last := v.lastFinal(g)
		if last == nil || !last.refused() {
			continue
		}
		standing := slices.DeleteFunc(g.standing(), func(c *charge) bool { return v.openAgain(g, c, last) })
		if len(standing) > 0 && v.lives.one(standing[0].commit, last.send) {
			return violation([]history.Event{standing[0].commit, last.answer},
				"%s %s, and that was the last final answer for the ref, but %s stands in the ledger",
				v.told(last), at(last.answer), ledger(standing))
		}
	}
	return nil
}

// openAgain: the charge was made after that final answer, by an attempt that was not
// over before that was asked for. Its client knows that it does not know, so the
// failure is not the last word.
func (v *view) openAgain(g group, c *charge, last *attempt) bool {
	began := c.began()
	if began.Seq < last.answer.Seq {
		return false
	}
	open := func(a *attempt) bool {
		gone := earlier(a.up, v.end(a)) // a failure that is told after speaks of it, too
		return gone.Seq > last.send.Seq && v.undecided(a)
	}
	if a := c.attempt(); a != nil {
		return open(a)
	}
	return slices.ContainsFunc(g.of.attempts, func(a *attempt) bool {
		calls := v.end(a).Seq > began.Seq || a.left() || v.unsure(a) // who has its answer makes no calls any more
		return a.send.Seq < began.Seq && calls && open(a)
	})
}

// undecided: the client was told nothing, or that it has to ask again.
func (v *view) undecided(a *attempt) bool {
	return a.answer.Seq == 0 || a.left() || v.unsure(a) || a.answered(history.InProgress, history.ResultTooLarge)
}

// lastFinal is the attempt with the last final answer of a group's ref.
func (v *view) lastFinal(g group) *attempt {
	var last *attempt
	for _, a := range g.of.attempts {
		if a.final() && (last == nil || a.answer.Seq > last.answer.Seq) {
			last = a
		}
	}
	return last
}

func noOverlap(v *view) *Violation {
	for _, l := range v.refs {
		var open *call // the call that ends last of those begun
		for _, c := range l.calls {
			if open != nil && c.arrive.Seq < v.replied(open).Seq && differentKeys(open, c) && open.arrive.Effect == c.arrive.Effect {
				return violation([]history.Event{open.arrive, c.arrive, open.reply},
					"%s arrived at the provider %s, while %s, which had arrived %s, was still running, and %s",
					v.whose(c.attempt, "call"), at(c.arrive), short(v.whose(open.attempt, "call")), at(open.arrive), keysInWords(open, c))
			}
			if open == nil || v.replied(c).Seq > v.replied(open).Seq {
				open = c
			}
		}
	}
	return nil
}

// differentKeys: the provider cannot know that two calls are one.
func differentKeys(a, b *call) bool {
	return a.arrive.ProviderKey == "" || a.arrive.ProviderKey != b.arrive.ProviderKey
}

func keysInWords(a, b *call) string {
	if a.arrive.ProviderKey == "" && b.arrive.ProviderKey == "" {
		return "neither carried a provider key"
	}
	return "they did not carry one provider key"
}

// unknownAt is the first moment at which a ref's outcome was known to be unknown:
// its action said so, or a living target answered so. That a worker was killed is
// not such a knowledge: nobody had it.
func (v *view) unknownAt(l *logical) history.Event {
	var first history.Event
	for _, r := range l.runs {
		if r.ran.Class == history.ClassUnknown {
			first = earlier(first, r.ran)
		}
	}
	for _, a := range l.attempts {
		if a.answered(history.UnknownOutcome) && !v.killed(a) && len(v.killedWorkers()) == 0 {
			first = earlier(first, a.answer)
		}
	}
	return first
}

func (v *view) killedWorkers() []history.Event {
	var kills []history.Event
	for _, f := range v.faults {
		if f.Op == "worker-kill" {
			kills = append(kills, f)
		}
	}
	return kills
}

func anyUnknown(h *history.History) bool {
	return slices.ContainsFunc(h.Events, func(e history.Event) bool {
		return e.Kind == history.Ran && e.Class == history.ClassUnknown || e.Kind == history.Answer && e.Answer == history.UnknownOutcome
	})
}

func unknownStaysUnknown(v *view) *Violation {
	for _, g := range v.groups() {
		unknown := v.unknownAt(g.of)
		if unknown.Seq == 0 {
			continue
		}
		standing := g.standing()
		if len(standing) > 1 && standing[len(standing)-1].began().Seq > unknown.Seq {
			late := standing[len(standing)-1]
			return violation([]history.Event{unknown, standing[0].commit, late.began(), late.commit},
				"the outcome of the ref was known to be unknown %s, yet %s arrived %s and charged %s; the ledger has %s",
				at(unknown), v.whose(late.attempt(), "call"), at(late.began()), late.id, ledger(standing))
		}
		if bad := v.deniedWhileStanding(g, unknown); bad != nil {
			return bad
		}
	}
	return nil
}

func (v *view) deniedWhileStanding(g group, unknown history.Event) *Violation {
	for _, a := range g.of.attempts {
		if !a.refused() || a.answer.Seq < unknown.Seq {
			continue
		}
		for _, c := range g.charges {
			if c.standingAt(a.answer) && v.lives.one(c.commit, a.send) {
				return violation([]history.Event{unknown, c.commit, a.answer},
					"the outcome of the ref was unknown %s, and %s (%s) stands, yet %s %s", at(unknown), c.id, at(c.commit), v.told(a), at(a.answer))
			}
		}
	}
	return nil
}
