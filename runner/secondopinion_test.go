package runner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/runner"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// opinions counts on what the two judges agreed.
type opinions struct {
	histories, mutants int
	legal, illegal     map[rule]int
}

// allRules stands for all of them at once.
const allRules rule = "all together"

// TestSecondOpinion has porcupine judge every history of the catalogue in every
// scenario, and for each one a few forgeries, and compares with package check.
func TestSecondOpinion(t *testing.T) {
	for _, kind := range []string{backend.Memory, backend.Embedded} {
		t.Run(kind, func(t *testing.T) {
			said := &opinions{legal: map[rule]int{}, illegal: map[rule]int{}}
			run, histories := runner.Run(t.Context(), runner.Config{
				Scenarios: scenarios.All(), Targets: impl.All(), Backend: open(t, kind), Seed: 1})
			for i, c := range run.Cells {
				h := histories[c.Scenario+"."+c.Target]
				if h == nil {
					continue
				}
				said.histories++
				said.compare(t, h, c.Scenario+" on "+c.Target)
				for n := range 3 {
					said.mutants++
					forged, how := forge(h, rand.New(rand.NewPCG(uint64(i), uint64(n))))
					said.compare(t, forged, fmt.Sprintf("%s on %s, where %s", c.Scenario, c.Target, how))
				}
			}
			said.report(t)
		})
	}
}

func (o *opinions) report(t *testing.T) {
	t.Logf("%d histories and %d forgeries", o.histories, o.mutants)
	for _, r := range append(ruleList(), allRules) {
		t.Logf("%-12s legal %5d, illegal %4d", r, o.legal[r], o.illegal[r])
		if o.legal[r] == 0 || o.illegal[r] == 0 {
			t.Errorf("%s: agreement that is all of one kind proves nothing", r)
		}
	}
	if o.histories < 500 {
		t.Errorf("only %d histories", o.histories)
	}
}

func ruleList() []rule { return []rule{once, backed, equal, refused, canonical} }

// compare asks both judges rule by rule, and then all rules at once. What one rule
// forbids all of them forbid; so that is asked only where each allows it.
func (o *opinions) compare(t *testing.T, h *history.History, what string) {
	t.Helper()
	bad := map[string]string{}
	for _, f := range check.Judge(h) {
		if f.Verdict == check.Violated {
			bad[f.Invariant] = f.Because
		}
	}
	any := false
	for _, r := range ruleList() {
		if r == refused && toldEarly(h) {
			continue // whose the charge will be, a model that goes by time cannot know; backed is about that
		}
		because, violated := bad[invariants()[r]]
		any = any || violated
		o.agree(t, r, legal(h, r), violated, what, because)
	}
	if any {
		o.illegal[allRules]++
		return
	}
	o.agree(t, allRules, legal(h, ruleList()...), any, what, "")
}

// toldEarly: a forged success names a charge that is made later.
func toldEarly(h *history.History) bool {
	made := map[string]bool{}
	for _, e := range h.Events {
		switch {
		case e.Kind == history.Commit:
			made[e.Charge] = true
		case e.Kind == history.Answer && e.Answer == history.OK && e.Charge != "" && !made[e.Charge]:
			return true
		}
	}
	return false
}

func (o *opinions) agree(t *testing.T, r rule, got porcupine.CheckResult, violated bool, what, because string) {
	t.Helper()
	switch {
	case got == porcupine.Ok && !violated:
		o.legal[r]++
	case got == porcupine.Illegal && violated:
		o.illegal[r]++
	default:
		t.Errorf("%s: %s: porcupine says %s, and check says violated: %v %s", what, r, got, violated, because)
	}
}

// forge changes one thing in a copy of a history, so that it may be illegal now, and
// says what.
func forge(h *history.History, rng *rand.Rand) (*history.History, string) {
	forged := &history.History{Header: h.Header, Events: slices.Clone(h.Events)}
	at := func(match func(history.Event) bool) *history.Event {
		var found []int
		for i, e := range forged.Events {
			if match(e) {
				found = append(found, i)
			}
		}
		if found == nil {
			return &history.Event{}
		}
		return &forged.Events[found[rng.IntN(len(found))]]
	}
	kind := func(k history.Kind) func(history.Event) bool {
		return func(e history.Event) bool { return e.Kind == k }
	}
	ok := func(e history.Event) bool { return e.Kind == history.Answer && e.Answer == history.OK }
	switch rng.IntN(8) {
	case 0:
		e := at(ok)
		e.Charge = fmt.Sprintf("ch_%d", 1+rng.IntN(3))
		return forged, "a success names " + e.Charge
	case 1:
		e := at(ok)
		e.Body += " "
		return forged, "a success has a blank more"
	case 2:
		e := at(kind(history.Commit))
		e.Amount++
		return forged, "a charge is over one more"
	case 3:
		e := at(func(e history.Event) bool { return e.Kind == history.Reply && e.Charge != "" })
		e.Kind = history.Void
		return forged, e.Charge + " is voided"
	case 4:
		e := at(kind(history.Answer))
		e.Answer = history.KeyReused
		return forged, "an answer refuses"
	case 5:
		e := at(kind(history.Send))
		e.Fingerprint = "another"
		for i := range forged.Events {
			if a := &forged.Events[i]; a.Attempt == e.Attempt && a.Ref != "" {
				a.Ref = "r9" // and so is what it executes
			}
		}
		return forged, "a payload is another"
	case 6:
		e := at(kind(history.Answer))
		e.Answer = history.OK
		return forged, "an answer is a success"
	default:
		e, o := at(kind(history.Commit)), at(ok)
		if sent(forged, o.Attempt) > min(e.Seq, o.Seq) {
			return forged, "nothing is forged: nobody is answered before he asks"
		}
		*e, *o = *o, *e
		e.Seq, o.Seq, e.At, o.At = o.Seq, e.Seq, o.At, e.At
		return forged, "a charge and a success have changed places"
	}
}

// sent is the position of an attempt's sending.
func sent(h *history.History, attempt int) int {
	return 1 + slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Send && e.Attempt == attempt })
}

// TestSecondJudgeCanSayNo: for each rule a legal history and its illegal twin.
func TestSecondJudgeCanSayNo(t *testing.T) {
	send := func(n int, ref, print string) history.Event {
		return history.Event{Kind: history.Send, Attempt: n, Key: "k", Ref: ref, Fingerprint: print, Amount: 100}
	}
	run := func(n int) history.Event { return history.Event{Kind: history.Run, Attempt: n} }
	commit := func(ref, charge string) history.Event {
		return history.Event{Kind: history.Commit, Ref: ref, Charge: charge, Amount: 100}
	}
	ok := func(n int, charge, source string) history.Event {
		return history.Event{Kind: history.Answer, Attempt: n, Answer: history.OK, Charge: charge, Source: source}
	}
	no := func(n int, answer string) history.Event {
		return history.Event{Kind: history.Answer, Attempt: n, Answer: answer}
	}
	first := []history.Event{send(1, "r1", "p"), run(1), commit("r1", "ch_1"), ok(1, "ch_1", "executed")}
	then := func(more ...history.Event) *history.History {
		h := &history.History{Events: slices.Concat(first, more)}
		for i := range h.Events {
			h.Events[i].Seq = i + 1
		}
		return h
	}
	cases := []struct {
		rule        rule
		reason      string
		legal, twin *history.History
	}{
		{once, "a charge after the end of retention is another",
			then(history.Event{Kind: history.Fault, Op: "set-expiry"}, history.Event{Kind: history.Fault, Op: "set-expiry", N: 1}, send(2, "r1", "p"), run(2), commit("r1", "ch_2")),
			then(send(2, "r1", "p"), run(2), commit("r1", "ch_2"))},
		{backed, "a charge of its own", then(send(2, "r1", "p"), ok(2, "ch_1", "replayed")), then(send(2, "r2", "q"), ok(2, "ch_1", "replayed"))},
		{equal, "the same charge", then(send(2, "r1", "p"), ok(2, "ch_1", "replayed")), then(send(2, "r1", "p"), ok(2, "ch_2", "replayed"))},
		{refused, "a mismatch is refused", then(send(2, "r2", "q"), no(2, history.KeyReused)), then(send(2, "r2", "q"), no(2, history.InProgress))},
		{refused, "nor may it run", then(send(2, "r1", "p"), run(2)), then(send(2, "r2", "q"), run(2), no(2, history.Error))},
		{canonical, "there is another payload", then(send(2, "r2", "q"), no(2, history.KeyReused)), then(send(2, "r1", "p"), no(2, history.KeyReused))},
	}
	for _, c := range cases {
		if got := legal(c.legal, c.rule); got != porcupine.Ok {
			t.Errorf("%s (%s): %s, want Ok", c.rule, c.reason, got)
		}
		if got := legal(c.twin, c.rule); got != porcupine.Illegal {
			t.Errorf("%s, the twin of (%s): %s, want Illegal", c.rule, c.reason, got)
		}
	}
}
