package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/idemrace/idemrace/history"
)

// pane is where a moment is drawn.
type pane int

const (
	testPane pane = iota
	cardPane
	bothPanes
)

// moment is one row of a timeline: one event, or many alike.
type moment struct {
	at    time.Duration
	pane  pane
	tone  tone
	mark  mark
	calls []int    // of the provider, that the moment is about
	who   []string // clients, calls or charges: whoever did it
	shape string   // moments of one shape, close in time, become one
	stage stage
	id    string // of what others come after
	after string // the id of what caused it
	tell  func(who []string) string
}

func (m moment) text() string { return m.tell(m.who) }

// teller turns a history's events into moments.
type teller struct {
	clients map[int]string // by attempt
	sent    map[string]bool
	charges map[string]int // standing ones, by ref and effect
	own     map[int]bool   // provider calls that have committed
	fault   string         // the last one: some are recorded before and after
	moments []moment
}

func momentsOf(h *history.History) []moment {
	t := &teller{clients: map[int]string{}, sent: map[string]bool{}, charges: map[string]int{}, own: map[int]bool{}}
	for _, e := range h.Events {
		t.event(e)
	}
	return t.moments
}

func (t *teller) event(e history.Event) {
	fault := ""
	switch e.Kind {
	case history.Send:
		t.send(e)
	case history.Answer:
		t.answer(e)
	case history.HangUp:
		t.add(e, moment{who: []string{e.Client}, shape: "hang-up", tone: odd, tell: acting("hangs up", "hang up")})
	case history.Arrive:
		t.arrive(e)
	case history.Commit:
		t.commit(e)
	case history.Reply:
		t.reply(e)
	case history.Void:
		t.charges[e.Ref+"\x00"+e.Effect]--
		t.add(e, moment{pane: cardPane, tone: good, tell: saying(e.Charge + " is voided")})
	case history.Orphan:
		t.add(e, moment{pane: cardPane, tone: odd, tell: saying(e.Charge + " is reported as an orphan: to be voided")})
	case history.Fault:
		fault = t.disturb(e)
	default:
		return
	}
	t.fault = fault
}

func (t *teller) add(e history.Event, m moment) {
	m.at = e.At
	t.moments = append(t.moments, m)
}

func attemptID(e history.Event) string { return "attempt " + strconv.Itoa(e.Attempt) }

func callID(e history.Event) string { return "call " + strconv.Itoa(e.Call) }

// send says "the same again" only where a client repeats what was sent before.
func (t *teller) send(e history.Event) {
	t.clients[e.Attempt] = e.Client
	what := sentence(e)
	shape := "send " + what
	again := t.sent[what]
	t.sent[what] = true
	t.add(e, moment{stage: sending, id: attemptID(e), who: []string{e.Client}, shape: shape, tell: func(who []string) string {
		if again && len(who) == 1 {
			return who[0] + " ──▶ the same again" + toWorker(e)
		}
		return several(who, "clients") + " ──▶ " + what + toWorker(e)
	}})
}

func sentence(e history.Event) string {
	what := fmt.Sprintf("%s %d, key %s", e.Operation, e.Amount, shownKey(e.Key))
	if e.Tenant != "" {
		what += ", tenant " + e.Tenant
	}
	return what
}

func toWorker(e history.Event) string {
	if e.Worker == "" || e.Worker == "w1" {
		return ""
	}
	return " (" + e.Worker + ")"
}

// shownKey is a key as a reader can tell it from another.
func shownKey(key string) string {
	if n := runes(key); n > 24 {
		return fmt.Sprintf("of %d characters", n)
	}
	if quoted := strconv.Quote(key); strings.TrimSpace(key) != key || key == "" || quoted != `"`+key+`"` {
		return quoted
	}
	return key
}

func (t *teller) answer(e history.Event) {
	what, hue := answerWords(e), good
	if e.Answer != history.OK {
		hue = odd
	}
	t.add(e, moment{stage: answering, after: attemptID(e), who: []string{e.Client}, shape: "answer " + what, tone: hue, tell: func(who []string) string {
		return several(who, "clients") + " ◀── " + what
	}})
}

func answerWords(e history.Event) string {
	if e.Answer != history.OK {
		return strings.ReplaceAll(e.Answer, "-", " ")
	}
	what := e.Charge
	if what == "" {
		what = "ok"
	}
	if e.Source != "" && e.Source != "executed" {
		what += ", " + e.Source
	}
	return what
}

func (t *teller) arrive(e history.Event) {
	client := t.clients[e.Attempt]
	t.add(e, moment{stage: arriving, id: callID(e), after: attemptID(e),
		pane: cardPane, mark: arrived, calls: []int{e.Call}, who: []string{client}, shape: "arrive " + e.Ref,
		tell: func(who []string) string {
			if len(who) > 1 {
				return fmt.Sprintf("%d calls: charge %d each", len(who), e.Amount)
			}
			if who[0] == "" {
				return fmt.Sprintf("call %d: charge %d", e.Call, e.Amount)
			}
			return fmt.Sprintf("call %d, for %s: charge %d", e.Call, who[0], e.Amount)
		}})
}

func (t *teller) commit(e history.Event) {
	t.own[e.Call] = true
	t.charges[e.Ref+"\x00"+e.Effect]++
	nth := t.charges[e.Ref+"\x00"+e.Effect]
	m := moment{stage: ending, after: callID(e), pane: cardPane, mark: charged, calls: []int{e.Call}, who: []string{e.Charge}, shape: "commit " + e.Ref, tone: good}
	again := ""
	if nth > 1 {
		m.tone, again = bad, " AGAIN"
	}
	m.tell = func(who []string) string {
		if len(who) == 1 {
			return fmt.Sprintf("%s: charged %d%s", who[0], e.Amount, again)
		}
		return fmt.Sprintf("%s … %s: charged %d, %d times", who[0], who[len(who)-1], e.Amount, len(who))
	}
	t.add(e, m)
}

// reply is drawn only where it is news: a failure, or an answer without a charge
// of its own, from a provider that honours keys.
func (t *teller) reply(e history.Event) {
	m := moment{stage: ending, after: callID(e), pane: cardPane, calls: []int{e.Call}, who: []string{strconv.Itoa(e.Call)}}
	switch {
	case e.Err != "":
		m.mark, m.tone, m.shape = failed, odd, "fail "+e.Err
		m.tell = func(who []string) string { return calls(who) + ": " + strings.TrimPrefix(e.Err, "provider: ") }
		if !t.own[e.Call] {
			m.tell = func(who []string) string {
				return calls(who) + ": " + strings.TrimPrefix(e.Err, "provider: ") + ", nothing charged"
			}
		}
	case !t.own[e.Call]:
		m.mark, m.tone, m.shape = replayed, good, "replay "+e.Charge
		m.tell = func(who []string) string { return calls(who) + ": gets " + e.Charge + " again, nothing charged" }
	default:
		return
	}
	t.add(e, m)
}

func calls(who []string) string {
	if len(who) == 1 {
		return "call " + who[0]
	}
	return fmt.Sprintf("%d calls", len(who))
}

// disturb draws what the scenario did. The provider's holds are left out: they
// are how a race is made to happen each time, and happen to nobody else.
func (t *teller) disturb(e history.Event) string {
	words := faultWords(e)
	if words != "" && words != t.fault {
		t.add(e, moment{pane: bothPanes, tone: odd, tell: saying(words)})
	}
	return words
}

func faultWords(e history.Event) string {
	switch e.Op {
	case "provider-hold", "provider-release":
		return ""
	case "store-down":
		return "the store is down"
	case "store-up":
		return "the store is back"
	case "end-leases":
		return "the lease of every claim ends"
	case "set-expiry":
		if e.TTLMS <= 0 {
			return "retention ends"
		}
		return fmt.Sprintf("retention is about to end (%v left)", time.Duration(e.TTLMS)*time.Millisecond)
	case "worker-kill":
		return "worker " + e.Worker + " dies"
	case "worker-pause":
		return "worker " + e.Worker + " stands still"
	case "worker-resume":
		return "worker " + e.Worker + " goes on"
	}
	return strings.ReplaceAll(e.Op, "-", " ")
}

func saying(text string) func([]string) string { return func([]string) string { return text } }

func acting(one, many string) func([]string) string {
	return func(who []string) string {
		if len(who) == 1 {
			return who[0] + " " + one
		}
		return several(who, "clients") + " " + many
	}
}

func several(who []string, things string) string {
	if len(who) == 1 {
		return who[0]
	}
	return fmt.Sprintf("%d %s", len(who), things)
}
