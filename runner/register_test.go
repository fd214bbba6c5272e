package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/idemrace/idemrace/history"
)

// The second opinion: porcupine, a checker of linearizability that others wrote, asked
// about the same histories as package check. The question on which the two must agree:
//
//	Is there an order of what happened under one key, consistent with real time, that
//	an idempotent register allows?
//
// In that order an attempt's answer is given at one moment between its sending and
// the client's reading of it (of an answer that never came nothing is asked); an
// execution begins, and a charge is committed, at the very moment at which the
// history says so; retention ends between the two events of the command. The
// register is five rules, each of which is also asked alone, against the invariant
// that says the same:
//
//	once       a ref has at most one standing charge a life      effect/at-most-once
//	backed     a success names a charge of its ref and amount    effect/success-backed
//	equal      successes of one payload are equal within a life  answer/replay-equal
//	refused    a key that was executed with one payload is
//	           neither executed nor answered with another        reuse/refused
//	canonical  a refusal needs another payload under the key     reuse/canonical
//	           (of a key's first attempt: ask scope/isolated)
//
// What the model does not see, and nobody asks it: charges that no answer names
// (effect/accounted), failures and what stands behind them, whether "in progress" is
// true, overlapping calls, provider keys, marks of replays, claims, records, tenants.
type rule string

const (
	once      rule = "once"
	backed    rule = "backed"
	equal     rule = "equal"
	refused   rule = "refused"
	canonical rule = "canonical"
)

// invariants maps each rule to the invariant that says the same.
func invariants() map[rule]string {
	return map[rule]string{once: "effect/at-most-once", backed: "effect/success-backed", equal: "answer/replay-equal",
		refused: "reuse/refused", canonical: "reuse/canonical"}
}

// The operations of the register.
type (
	sends    struct{ a *sender }
	executes struct{ a *sender }
	commits  struct{ ref, effect, charge string }
	forgets  struct{}
	answers  struct{ a *sender }
)

// sender is an attempt, as far as the register knows it.
type sender struct {
	n                int
	ref, print       string
	amount           int64
	answer, body     string
	charge           string
	charged          int64 // amount as the answer names it
	outside          bool  // the store failed it: the key did not protect it, and it does not bind the key
	first            bool  // of its key
	binds            bool  // had an end that leaves no doubt that the key was used
	marked           bool  // as another's answer
	sent, acted, end int   // positions, 0: never
	ledger           map[string]entry
}

// entry is a charge as the ledger has it at the end.
type entry struct {
	ref    string
	amount int64
	at     int
	voided bool // then it never stood
}

func (s *sender) same(o *sender) bool { return s.ref == o.ref || s.print != "" && s.print == o.print }

// register is the state: what is known of the key, each part as a text, so that two
// states are equal if their parts are.
type register struct {
	owner   int    // attempt whose payload the key belongs to, 0: nobody's
	charges string // " effect/ref" of this life
	named   string // " charge" of all lives
	bodies  string // " print=body" of this life
	prints  string // " n" of all senders so far
}

// model is the register under some of the rules.
func model(rules []rule, by map[int]*sender) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{register{}} },
		Step: func(state, input, _ any) []any {
			var next []any
			for _, r := range step(state.(register), input, rules, by) {
				next = append(next, r)
			}
			return next
		},
	}
	return m.ToModel()
}

// step is what may come of one operation: nothing, if the register forbids it.
func step(r register, input any, rules []rule, by map[int]*sender) []register {
	on := func(x rule) bool { return slices.Contains(rules, x) }
	switch op := input.(type) {
	case forgets:
		r.owner, r.charges, r.bodies = 0, "", ""
	case commits:
		word := fmt.Sprintf(" %s/%s;", op.effect, op.ref)
		if on(once) && strings.Contains(r.charges, word) {
			return nil
		}
		if on(once) {
			r.charges += word
		}
		if on(backed) {
			r.named += fmt.Sprintf(" %s;", op.charge)
		}
	case sends:
		if on(canonical) {
			r.prints += fmt.Sprintf(" %d", op.a.n)
		}
	case executes:
		return execute(r, op.a, on(refused), by)
	case answers:
		return answered(r, op.a, on, by)
	}
	return []register{r}
}

// execute binds the key. One whose end leaves it open whether the key was kept forks:
// it is now its own, or it is nobody's.
func execute(r register, a *sender, asked bool, by map[int]*sender) []register {
	if !asked || a.outside {
		return []register{r}
	}
	if r.owner != 0 {
		if !by[r.owner].same(a) {
			return nil
		}
		return []register{r}
	}
	bound := r
	bound.owner = a.n
	if a.binds {
		return []register{bound}
	}
	return []register{r, bound}
}

func answered(r register, a *sender, on func(rule) bool, by map[int]*sender) []register {
	if on(refused) && !a.outside && r.owner != 0 && !by[r.owner].same(a) && tells(a.answer) {
		return nil
	}
	if on(canonical) && a.answer == history.KeyReused && !a.first && !another(r, a, by) {
		return nil
	}
	if a.answer != history.OK {
		return []register{r}
	}
	if on(backed) {
		c, known := a.ledger[a.charge]
		if !known || c.voided || !strings.Contains(r.named, fmt.Sprintf(" %s;", a.charge)) && c.ref == a.ref || c.ref != a.ref ||
			a.amount != 0 && c.amount != a.amount || a.charged != 0 && c.amount != a.charged {
			return nil
		}
	}
	if on(equal) {
		said := a.body
		if said == "" {
			said = a.charge
		}
		word := fmt.Sprintf(" %s=%q;", a.print, said)
		if strings.Contains(r.bodies, fmt.Sprintf(" %s=", a.print)) {
			if !strings.Contains(r.bodies, word) {
				return nil
			}
		} else {
			r.bodies += word
		}
	}
	return []register{r}
}

// tells: an answer that treats the key as the sender's own.
func tells(answer string) bool {
	switch answer {
	case history.OK, history.InProgress, history.Declined, history.OwnerFailed, history.ResultTooLarge:
		return true
	}
	return false
}

func another(r register, a *sender, by map[int]*sender) bool {
	for n, o := range by {
		if strings.Contains(r.prints+" ", fmt.Sprintf(" %d ", n)) && !o.same(a) {
			return true
		}
	}
	return false
}

// legal asks porcupine about each key of a history.
func legal(h *history.History, rules ...rule) porcupine.CheckResult {
	worst := porcupine.Ok
	for _, k := range keysOf(h) {
		switch porcupine.CheckOperationsTimeout(model(rules, k.by), k.asked(rules), 5*time.Second) {
		case porcupine.Illegal:
			return porcupine.Illegal
		case porcupine.Unknown:
			worst = porcupine.Unknown
		}
	}
	return worst
}

// crowd is how many answers under one key may be placed freely. To show that there
// is no order, all orders have to be tried, and with twenty answers at once there
// are more than anybody waits for.
const crowd = 8

// asked leaves out what none of the rules looks at and changes nothing: it fits in
// anywhere. Of a crowd's answers, each stands where a single rule, asked alone, is
// easiest on it: a key once bound stays bound, so for refused that is the soonest; a
// ledger only grows, so for the others it is the reading.
func (k *key) asked(rules []rule) []porcupine.Operation {
	var ops, free []porcupine.Operation
	for _, op := range k.ops {
		_, isAnswer := op.Input.(answers)
		switch {
		case !slices.ContainsFunc(rules, func(r rule) bool { return looksAt(r, op.Input) }):
		case isAnswer && len(rules) == 1:
			free = append(free, op)
			if rules[0] == refused {
				op.Call += int64(len(free) % moment)
				op.Return = op.Call
			} else {
				op.Call = op.Return
			}
			ops = append(ops, op)
		default:
			ops = append(ops, op)
		}
	}
	if len(free) > crowd {
		return ops
	}
	ops = slices.DeleteFunc(ops, func(op porcupine.Operation) bool {
		_, isAnswer := op.Input.(answers)
		return isAnswer && len(rules) == 1
	})
	return append(ops, free...)
}

func looksAt(r rule, input any) bool {
	switch op := input.(type) {
	case forgets:
		return r == once || r == equal || r == refused
	case commits:
		return r == once || r == backed
	case sends:
		return r == canonical
	case executes:
		return r == refused && !op.a.outside
	case answers:
		switch r {
		case backed, equal:
			return op.a.answer == history.OK
		case refused:
			return !op.a.outside && tells(op.a.answer)
		case canonical:
			return op.a.answer == history.KeyReused && !op.a.first
		}
	}
	return false
}

// key is what happened under one key, as operations.
type key struct {
	by  map[int]*sender
	ops []porcupine.Operation
}

// moment is the time between two events: a crowd's answers that can be given at the
// same event are given one after the other.
const moment = 64

func (k *key) add(input any, from, to int) {
	k.ops = append(k.ops, porcupine.Operation{ClientId: len(k.ops), Input: input, Call: int64(from) * moment, Return: int64(to) * moment})
}

// keysOf turns a history into the register's operations, key by key. It reads the
// events by itself and shares nothing with package check.
func keysOf(h *history.History) []*key {
	ledger := ledgerOf(h)
	order := sendersOf(h, ledger)
	keys, ofRef := map[string]*key{}, map[string]*key{}
	var all []*key
	for _, s := range order {
		name := s.name(h)
		if keys[name] == nil {
			keys[name] = &key{by: map[int]*sender{}}
			s.first = true
			all = append(all, keys[name])
		}
		k := keys[name]
		k.by[s.n] = s
		if ofRef[s.ref] == nil {
			ofRef[s.ref] = k
		}
		k.add(sends{s}, s.sent, s.sent)
		if first := s.sign(); first > 0 {
			k.add(executes{s}, first, first)
		}
		if s.end > 0 {
			k.add(answers{s}, s.soonest(), s.end)
		}
	}
	for _, e := range h.Events {
		if k, c := ofRef[e.Ref], ledger[e.Charge]; e.Kind == history.Commit && k != nil && c.at == e.Seq && !c.voided {
			k.add(commits{e.Ref, e.Effect, e.Charge}, e.Seq, e.Seq)
		}
	}
	for _, end := range endsOf(h) {
		for _, k := range all {
			k.add(forgets{}, end[0], end[1])
		}
	}
	return all
}

func (s *sender) name(h *history.History) string {
	e := h.Events[s.sent-1]
	return fmt.Sprintf("%q/%q/%q", e.Tenant, e.Operation, e.Key)
}

// soonest is when its answer can have been given at the soonest: not before the charge
// that it names.
func (s *sender) soonest() int {
	if c, known := s.ledger[s.charge]; known && s.answer == history.OK && c.at < s.end {
		return max(s.sent, c.at)
	}
	return s.sent
}

// sign is the first moment that shows that the attempt used the key itself.
func (s *sender) sign() int {
	if s.answer == history.OK && !s.marked && (s.acted == 0 || s.end < s.acted) {
		return s.end
	}
	return s.acted
}

// sendersOf reads the attempts of a history, in the order of their sending.
func sendersOf(h *history.History, ledger map[string]entry) (order []*sender) {
	by := map[int]*sender{}
	returned := map[int]bool{}
	for _, e := range h.Events {
		if e.Kind == history.StoreReturn {
			returned[e.Call] = true
		}
	}
	for _, e := range h.Events {
		if e.Kind == history.Send && by[e.Attempt] == nil {
			by[e.Attempt] = &sender{n: e.Attempt, ref: e.Ref, print: e.Fingerprint, amount: e.Amount, sent: e.Seq, ledger: ledger}
			order = append(order, by[e.Attempt])
		}
		s := by[e.Attempt]
		if s == nil {
			continue
		}
		switch e.Kind {
		case history.Answer:
			s.answer, s.body, s.charge, s.charged, s.end = e.Answer, e.Body, e.Charge, e.Amount, e.Seq
			s.marked = e.Source == "replayed" || e.Source == "waited" || e.Source == "superseded"
			s.outside = s.outside || e.Source == "unprotected"
		case history.Run, history.Arrive:
			if s.acted == 0 {
				s.acted = e.Seq
			}
		case history.StoreCall:
			s.outside = s.outside || asked(e.Op) && !returned[e.Call]
		case history.StoreReturn:
			s.outside = s.outside || asked(e.Op) && e.Err != ""
		}
	}
	for _, s := range order {
		switch s.answer {
		case history.Declined, history.Error, history.OwnerFailed, history.InProgress:
		default:
			s.binds = true
		}
	}
	return order
}

// asked: waits and renewals end with errors in the course of nature.
func asked(op string) bool {
	return op != history.OpAwait && op != history.OpKeep && op != history.OpRenew
}

// ledgerOf is every charge, and whether it was voided in the end.
func ledgerOf(h *history.History) map[string]entry {
	ledger := map[string]entry{}
	for _, e := range h.Events {
		switch e.Kind {
		case history.Commit:
			if _, known := ledger[e.Charge]; !known {
				ledger[e.Charge] = entry{ref: e.Ref, amount: e.Amount, at: e.Seq}
			}
		case history.Void:
			if c, known := ledger[e.Charge]; known {
				c.voided = true
				ledger[e.Charge] = c
			}
		}
	}
	return ledger
}

// endsOf is when retention was ended by command: between the two events of it.
func endsOf(h *history.History) [][2]int {
	var ends [][2]int
	open := 0
	for _, e := range h.Events {
		if e.Kind != history.Fault || e.Op != "set-expiry" || e.TTLMS > 0 {
			continue
		}
		if open == 0 {
			open = e.Seq
			continue
		}
		ends, open = append(ends, [2]int{open, e.Seq}), 0
	}
	return ends
}
