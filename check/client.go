package check

import (
	"slices"
	"strings"

	"github.com/idemrace/idemrace/history"
)

func clientLaws() []Invariant {
	return []Invariant{
		law(Invariant{ID: "client/abort-safe",
			Predicate: "A client that hangs up at any point and retries later finds one charge in all, and the original answer.",
			Why:       "People close the browser and pay again; that is what keys are for.",
			Applies:   anyHangUp}, abortSafe),
	}
}

func anyHangUp(h *history.History) bool {
	return slices.ContainsFunc(h.Events, func(e history.Event) bool {
		return e.Kind == history.HangUp || e.Kind == history.Answer && e.Answer == history.HungUp
	})
}

func abortSafe(v *view) *Violation {
	for _, g := range v.groups() {
		i := slices.IndexFunc(g.of.attempts, (*attempt).left)
		if i < 0 {
			continue
		}
		gone := g.of.attempts[i]
		left := earlier(gone.up, gone.answer)
		if standing := g.standing(); len(standing) > 1 && standing[len(standing)-1].commit.Seq > gone.send.Seq {
			bad := v.double(g, standing, "")
			return violation(append(v.seqs(bad.Events), left), "%s hung up %s; %s", gone.client(), at(left), strings.TrimSuffix(bad.Because, "."))
		}
		if bad := v.otherAnswer(g, gone, left); bad != nil {
			return bad
		}
	}
	return nil
}

// otherAnswer finds a retry, sent after the client had left, that was told
// anything definitive but the charge that stood by then.
func (v *view) otherAnswer(g group, gone *attempt, left history.Event) *Violation {
	for _, a := range g.of.attempts {
		if a == gone || a.send.Seq < left.Seq || !a.ok() && !a.refused() {
			continue
		}
		for _, c := range g.charges {
			if c.standing() && c.commit.Seq < a.send.Seq && v.lives.one(c.commit, a.send) && a.answer.Charge != c.id {
				return violation([]history.Event{left, c.commit, a.send, a.answer}, "%s hung up %s and %s stands since %s, but the retry did not get that answer: %s %s",
					gone.client(), at(left), c.id, ms(c.commit.At), v.told(a), at(a.answer))
			}
		}
	}
	return nil
}

func (v *view) seqs(positions []int) []history.Event {
	var events []history.Event
	for _, seq := range positions {
		events = append(events, v.events[seq-1])
	}
	return events
}

func (a *attempt) client() string {
	if a.send.Client == "" {
		return "the client"
	}
	return a.send.Client
}
