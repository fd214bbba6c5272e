package check

import (
	"slices"
	"strings"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/store"
)

// Seen is a positive control, counted.
type Seen struct {
	Name string
	Seen int
	Min  int
}

// OK reports whether it was seen often enough.
func (s Seen) OK() bool { return s.Seen >= s.Min }

// faultPrefix begins the control of one fault by name: fault:end-leases.
const faultPrefix = "fault:"

// counter is a named control.
type counter struct {
	name, doc string
	count     func(v *view) int
}

func counters() []counter {
	return []counter{
		{"overlap", "pairs of attempts of one key in flight at once", overlaps},
		{"parallel-calls", "provider calls that arrived while a call of another ref was open", parallelCalls},
		{"entered", "attempts that asked the store for their key while another's provider call was open", entered},
		{"replay", "answers marked as replayed or waited for; without a mark, further successes on a key", replays},
		{"execution", "executions of an action", events(kind(history.Run))},
		{"provider-call", "calls that arrived at the provider", events(kind(history.Arrive))},
		{"charge", "charges in the ledger", events(kind(history.Commit))},
		{"fault", "faults that took effect", events(fired)},
		{"takeover", "claims taken over from a former owner", takeovers},
		{"refusal", "answers that refuse a reused or an invalid key", events(answer(history.KeyReused, history.InvalidKey))},
		{"in-progress", "answers that say: in progress", events(answer(history.InProgress))},
		{"waiting", "waits for another attempt's result", events(storeCall(history.OpAwait))},
		{"store-error", "store operations that failed", storeErrors},
		{"provider-failure", "provider calls that ended in an error", events(providerFailure)},
		{"late-settle", "settlements that came too late and were not applied", events(lateSettle)},
		{"hold", "provider calls that were held", held},
		{"hang-up", "clients that left before their answer", events(kind(history.HangUp))},
		{"orphan", "effects reported as orphans", events(kind(history.Orphan))},
		{"unprotected", "answers given without the store's protection", events(unprotected)},
	}
}

// ControlNames lists the controls that can be counted, besides fault:NAME.
func ControlNames() []string {
	var names []string
	for _, c := range counters() {
		names = append(names, c.name)
	}
	return names
}

// KnownControl reports whether Controls can count name.
func KnownControl(name string) bool {
	if op, ok := strings.CutPrefix(name, faultPrefix); ok {
		return op != ""
	}
	return slices.Contains(ControlNames(), name)
}

// CountsStoreCalls reports whether a control counts what was asked of the store: it
// is never seen of a target whose store nobody sees.
func CountsStoreCalls(name string) bool {
	switch name {
	case "entered", "takeover", "waiting", "store-error", "late-settle":
		return true
	}
	return false
}

// Controls counts the controls that h's header asks for, in its order. One that
// is not known is never seen.
func Controls(h *history.History) []Seen {
	if len(h.Header.Controls) == 0 {
		return nil
	}
	v := newView(h)
	var seen []Seen
	for _, c := range h.Header.Controls {
		seen = append(seen, Seen{Name: c.Name, Seen: v.count(c.Name), Min: c.Min})
	}
	return seen
}

func (v *view) count(name string) int {
	if op, ok := strings.CutPrefix(name, faultPrefix); ok {
		return events(func(e history.Event) bool { return fired(e) && e.Op == op })(v)
	}
	for _, c := range counters() {
		if c.name == name {
			return c.count(v)
		}
	}
	return 0
}

// events counts the events that match.
func events(match func(history.Event) bool) func(*view) int {
	return func(v *view) int {
		n := 0
		for _, e := range v.events {
			if match(e) {
				n++
			}
		}
		return n
	}
}

func kind(k history.Kind) func(history.Event) bool {
	return func(e history.Event) bool { return e.Kind == k }
}

func answer(words ...string) func(history.Event) bool {
	return func(e history.Event) bool { return e.Kind == history.Answer && slices.Contains(words, e.Answer) }
}

func storeCall(op string) func(history.Event) bool {
	return func(e history.Event) bool { return e.Kind == history.StoreCall && e.Op == op }
}

// fired: a fault that changed something, where the count of changes is known.
func fired(e history.Event) bool {
	if e.Kind != history.Fault {
		return false
	}
	switch e.Op {
	case "end-leases", "set-expiry", "provider-release",
		"store-lose-reply", "store-cut-before", "store-hold", "store-slow":
		return e.N > 0
	}
	return true
}

func providerFailure(e history.Event) bool { return e.Kind == history.Reply && e.Err != "" }

func unprotected(e history.Event) bool {
	return e.Kind == history.Answer && e.Source == "unprotected"
}

func lateSettle(e history.Event) bool {
	return e.Kind == history.StoreReturn && e.Op == history.OpSettle && e.Err == "" && !e.Applied
}

func storeErrors(v *view) int {
	n := 0
	for _, o := range v.ops {
		if o.failed() && o.ret.Seq > 0 {
			n++
		}
	}
	return n
}

// overlaps adds, for each attempt sent, those of its key that are in flight.
func overlaps(v *view) int {
	open, n := map[id]int{}, 0
	for _, e := range v.events {
		a := v.byNumber[e.Attempt]
		switch {
		case a == nil || a.send.Seq == 0:
		case e.Seq == a.send.Seq:
			n += open[a.id()]
			open[a.id()]++
		case e.Seq == a.answer.Seq && a.send.Seq < e.Seq:
			open[a.id()]--
		}
	}
	return n
}

// entered: the store's answer came while the call was open, so that the attempt
// went on from there in the middle of another's charge. What has merely been
// sent may be handled when the race is over.
func entered(v *view) int {
	open := map[string]map[int]bool{} // ref → attempts with a call under way
	seen := map[int]bool{}
	for _, e := range v.events {
		c, o := v.byCall[e.Call], v.byOp[e.Call]
		switch {
		case e.Kind == history.Arrive && c != nil:
			if open[e.Ref] == nil {
				open[e.Ref] = map[int]bool{}
			}
			open[e.Ref][e.Attempt] = true
		case e.Kind == history.Reply && c != nil:
			delete(open[c.arrive.Ref], c.arrive.Attempt)
		case e.Kind == history.StoreReturn && o != nil && o.attempt != nil && o.asks() && e.Seq == o.ret.Seq:
			a := o.attempt
			others := open[a.send.Ref]
			if len(others) > 1 || len(others) == 1 && !others[a.send.Attempt] {
				seen[a.send.Attempt] = true
			}
		}
	}
	return len(seen)
}

func parallelCalls(v *view) int {
	open, all, n := map[string]int{}, 0, 0
	for _, e := range v.events {
		c := v.byCall[e.Call]
		switch {
		case c == nil:
		case e.Kind == history.Arrive && e.Seq == c.arrive.Seq:
			if all > open[e.Ref] {
				n++
			}
			open[e.Ref]++
			all++
		case e.Kind == history.Reply && e.Seq == c.reply.Seq:
			open[c.arrive.Ref]--
			all--
		}
	}
	return n
}

func replays(v *view) int {
	n := 0
	for _, k := range v.keys {
		successes := 0
		for _, a := range k.attempts {
			if !a.ok() {
				continue
			}
			source := a.answer.Source
			if source == "replayed" || source == "waited" || source == "" && successes > 0 {
				n++
			}
			successes++
		}
	}
	return n
}

// takeovers counts claims with Took; on plain commands, claims won on a name
// whose former claim was neither finished nor given back by its owner.
func takeovers(v *view) int {
	owner, n := map[string]*attempt{}, 0
	for _, o := range v.ops {
		if o.ret.Seq == 0 || o.ret.Err != "" {
			continue
		}
		name := o.call.Name
		switch {
		case o.call.Op == history.OpClaim && o.ret.Mine && o.ret.Took:
			n++
		case o.call.Op == history.OpSetNX && o.ret.Applied && o.call.State == string(store.Pending):
			if owner[name] != nil && owner[name] != o.attempt {
				n++
			}
			owner[name] = o.attempt
		case o.call.Op == history.OpDelete || o.call.Op == history.OpSet && o.call.State == string(store.Done):
			owner[name] = nil
		}
	}
	return n
}

// held is how many calls the provider held; the release says how many it let go.
func held(v *view) int {
	holds, releases := 0, 0
	for _, e := range v.faults {
		switch e.Op {
		case "provider-hold":
			holds += e.N
		case "provider-release":
			releases += e.N
		}
	}
	return max(holds, releases)
}
