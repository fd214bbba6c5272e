package explore

import (
	"context"
	"fmt"
	"strings"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/store"
)

// Story is a schedule as it is told.
type Story struct {
	Coordinator string   `json:"coordinator"`
	Invariant   string   `json:"invariant,omitempty"`
	Because     string   `json:"because,omitempty"` // one sentence
	Clients     []string `json:"clients"`
	Lines       []Line   `json:"lines"`
	Outcome     []string `json:"outcome"`
	Token       string   `json:"token"`
}

// Line is one step, and what was seen of it.
type Line struct {
	Step     Step   `json:"step"`
	AtMS     int64  `json:"at_ms"`              // virtual time
	Does     string `json:"does"`               // what the client does, or what happens
	Sees     string `json:"sees,omitempty"`     // what it is told by store or provider
	Answer   string `json:"answer,omitempty"`   // what its client is told
	Store    string `json:"store,omitempty"`    // what lies under the key from now on, if that has changed
	Provider string `json:"provider,omitempty"` // what the provider sees
}

// Tell replays a schedule and tells it. Errors are those of Replay.
func Tell(cfg Config, s Schedule) (Story, error) {
	r, err := Replay(cfg, s)
	if err != nil {
		return Story{}, err
	}
	return r.Story(), nil
}

// teller writes lines while a schedule is made.
type teller struct {
	w     *world
	lines []Line
	seen  int    // events
	lies  string // under the key
}

// took is called after each step.
func (t *teller) took() {
	if t == nil {
		return
	}
	step := t.w.steps[len(t.w.steps)-1]
	l := Line{Step: step, AtMS: t.w.now.Milliseconds(), Does: step.What}
	if step.How != "" {
		l.Does = fmt.Sprintf("%s (%s)", step.What, step.How)
	}
	events := t.w.rec.History().Events
	for _, e := range events[t.seen:] {
		l.tell(e)
	}
	t.seen = len(events)
	if lies := t.w.lies(); lies != t.lies {
		l.Store, t.lies = lies, lies
	}
	t.lines = append(t.lines, l)
}

// tell adds what an event shows.
func (l *Line) tell(e history.Event) {
	switch e.Kind {
	case history.StoreReturn:
		l.Sees = reply(e)
	case history.Arrive:
		l.Provider = fmt.Sprintf("call %d arrives: %d for %s", e.Call, e.Amount, e.Ref)
	case history.Commit:
		l.Provider = fmt.Sprintf("%s: %d for %s", e.Charge, e.Amount, e.Ref)
	case history.Reply:
		switch {
		case e.Err != "" && l.Provider != "":
			l.Provider += ", " + e.Err
		case e.Err != "":
			l.Provider = e.Err
		case l.Provider == "":
			l.Provider = e.Charge + " again: the key is known"
		}
	case history.Answer:
		l.Answer = strings.Join(strings.Fields(strings.Join([]string{e.Answer, e.Charge, e.Source}, " ")), " ")
	case history.Orphan:
		l.Answer = "reports " + e.Charge + " as an orphan"
	}
}

// reply is what a command returned, in a few words.
func reply(e history.Event) string {
	switch {
	case e.Err != "":
		return "error"
	case e.Op == history.OpClaim && e.Mine:
		return fmt.Sprintf("mine, fence %d", e.Fence)
	case e.Op == history.OpGet && e.Applied, e.Op == history.OpClaim, e.Op == history.OpAwait && e.State != "":
		return e.State
	case e.Op == history.OpGet:
		return "nothing there"
	case e.Op == history.OpAwait:
		return "nothing came"
	case e.Op == history.OpSetNX && !e.Applied:
		return "taken"
	case e.Op == history.OpSettle && !e.Applied, e.Op == history.OpRenew && !e.Applied:
		return "not applied: " + e.State
	}
	return "done"
}

// lies is what lies in the store, in words.
func (w *world) lies() string {
	records, err := w.model.Records(context.Background())
	if err != nil {
		return ""
	}
	var all []string
	for _, r := range records {
		text := string(r.State)
		switch {
		case r.State == store.Done && r.Fence == 0:
			text = "a value"
		case r.State == store.Pending && r.Token != "":
			text = fmt.Sprintf("pending, %s's, fence %d", r.Token, r.Fence)
		case r.Token != "":
			text = fmt.Sprintf("%s, by %s", r.State, r.Token)
		}
		all = append(all, text)
	}
	if all == nil {
		return "empty"
	}
	return strings.Join(all, "; ")
}

func (t *teller) story(s Schedule) Story {
	story := Story{Coordinator: s.Coordinator, Lines: t.lines, Token: Encode(s)}
	for _, a := range t.w.actors {
		story.Clients = append(story.Clients, a.name)
	}
	return story
}
