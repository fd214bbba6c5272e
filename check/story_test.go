package check_test

import (
	"fmt"
	"time"

	"github.com/idemrace/idemrace/history"
)

// story builds a history line by line. A client's name stands for its latest
// attempt; calls, charges and store operations are numbered as they come.
type story struct {
	h       history.History
	now     time.Duration
	number  map[string]int           // client → its latest attempt
	sent    map[int]history.Event    // attempt → its send
	call    map[string]history.Event // client → its latest provider call
	op      map[string]history.Event // client → its latest store call
	calls   int
	charges int
	ops     int
	all     int
}

type edit func(*history.Event)

// told makes a history of a story. Inspected, marked, with a lease of 30 s and a
// retention of a day, unless it says otherwise.
func told(tell func(s *story)) *history.History {
	s := &story{number: map[string]int{}, sent: map[int]history.Event{}, call: map[string]history.Event{}, op: map[string]history.Event{}}
	s.h.Header = history.Header{Schema: history.Schema, Scenario: "story", Target: "told", LeaseMS: 30_000, RetentionMS: 86_400_000, Inspected: true, Marker: true}
	tell(s)
	return &s.h
}

// at moves the clock to ms milliseconds.
func (s *story) at(ms int) *story {
	s.now = time.Duration(ms) * time.Millisecond
	return s
}

func (s *story) event(e history.Event, edits ...edit) history.Event {
	for _, f := range edits {
		f(&e)
	}
	e.Seq, e.At = len(s.h.Events)+1, s.now
	s.h.Events = append(s.h.Events, e)
	return e
}

// send sends key k for ref r over 100, fingerprint f.
func (s *story) send(client string, edits ...edit) *story {
	s.all++
	s.number[client] = s.all
	e := history.Event{Kind: history.Send, Attempt: s.all, Client: client, Worker: "w" + client, Operation: "pay", Key: "k", Ref: "r", Fingerprint: "f", Amount: 100}
	s.sent[s.all] = s.event(e, edits...)
	return s
}

func (s *story) of(client string, e history.Event) history.Event {
	sent := s.sent[s.number[client]]
	e.Attempt, e.Ref = sent.Attempt, sent.Ref
	switch e.Kind {
	case history.Send, history.Answer, history.HangUp:
		e.Client, e.Worker, e.Key = sent.Client, sent.Worker, sent.Key
	case history.Run, history.Ran, history.StoreCall, history.StoreReturn:
		e.Worker = sent.Worker
	}
	return e
}

func (s *story) run(client string, edits ...edit) *story {
	s.event(s.of(client, history.Event{Kind: history.Run}), edits...)
	return s
}

func (s *story) ran(client, class string) *story {
	s.event(s.of(client, history.Event{Kind: history.Ran, Class: class}))
	return s
}

// arrive: the client's provider call arrives, without a provider key.
func (s *story) arrive(client string, edits ...edit) *story {
	s.calls++
	e := s.of(client, history.Event{Kind: history.Arrive, Call: s.calls, Effect: "charge", Amount: s.sent[s.number[client]].Amount})
	s.call[client] = s.event(e, edits...)
	return s
}

func (s *story) commit(client string) *story {
	s.charges++
	e := s.call[client]
	e.Kind, e.Charge = history.Commit, fmt.Sprintf("ch_%d", s.charges)
	s.call[client] = s.event(e)
	return s
}

func (s *story) reply(client string, edits ...edit) *story {
	e := s.call[client]
	e.Kind = history.Reply
	s.event(e, edits...)
	return s
}

// charge: the client's action runs and charges, all in one moment.
func (s *story) charge(client string, edits ...edit) *story {
	return s.run(client).arrive(client, edits...).commit(client).reply(client).ran(client, history.ClassOK)
}

// fail: the client's action runs and fails before any effect.
func (s *story) fail(client, class string) *story {
	return s.run(client).arrive(client).reply(client, failed).ran(client, class)
}

func (s *story) ok(client, charge, source string, edits ...edit) *story {
	e := s.of(client, history.Event{Kind: history.Answer, Answer: history.OK, Charge: charge, Source: source, Body: charge})
	s.event(e, edits...)
	return s
}

func (s *story) say(client, answer string) *story {
	s.event(s.of(client, history.Event{Kind: history.Answer, Answer: answer}))
	return s
}

func (s *story) hangUp(client string) *story {
	s.event(s.of(client, history.Event{Kind: history.HangUp}))
	return s
}

func (s *story) void(charge string) *story {
	s.event(history.Event{Kind: history.Void, Charge: charge, Ref: "r"})
	return s
}

func (s *story) orphan(client, charge string) *story {
	s.event(s.of(client, history.Event{Kind: history.Orphan, Charge: charge}))
	return s
}

func (s *story) fault(name string, edits ...edit) *story {
	s.event(history.Event{Kind: history.Fault, Op: name, N: 1}, edits...)
	return s
}

func (s *story) kill(client string) *story {
	return s.fault("worker-kill", func(e *history.Event) { e.Worker = s.sent[s.number[client]].Worker })
}

func (s *story) record(state string, edits ...edit) *story {
	s.event(history.Event{Kind: history.RecordSeen, Name: "n:k", State: state, TTLMS: 86_400_000, Fence: 1, Token: "t"}, edits...)
	return s
}

func (s *story) settled() *story {
	s.event(history.Event{Kind: history.Settled})
	return s
}

// begin is a store operation called under the name n:KEY.
func (s *story) begin(client, op string, edits ...edit) *story {
	s.ops++
	key := s.sent[s.number[client]].Key
	e := s.of(client, history.Event{Kind: history.StoreCall, Call: s.ops, Op: op, Name: "n:" + key, Token: "t" + client})
	e.Ref = ""
	s.op[client] = s.event(e, edits...)
	return s
}

// end is its return.
func (s *story) end(client string, edits ...edit) *story {
	c := s.op[client]
	s.event(history.Event{Kind: history.StoreReturn, Call: c.Call, Op: c.Op, Attempt: c.Attempt, Worker: c.Worker, Name: c.Name, State: c.State, Token: c.Token}, edits...)
	return s
}

// claim is a claim won, with its fence; settle a settlement, applied or not.
func (s *story) claim(client string, fence int64) *story {
	return s.begin(client, "claim", lease(30_000)).end(client, mine(fence))
}

func (s *story) refuseClaim(client string) *story {
	return s.begin(client, "claim", lease(30_000)).end(client)
}

func (s *story) settle(client, state string, applied bool) *story {
	return s.begin(client, "settle", to(state), ttl(86_400_000)).end(client, func(e *history.Event) { e.Applied = applied })
}

// plain is a command of the KV port that did something.
func (s *story) plain(client, op, state string, ttlMS int64) *story {
	return s.begin(client, op, to(state), ttl(ttlMS), token("")).end(client, func(e *history.Event) { e.Applied, e.Token = true, "" })
}

// Edits.

func key(k string) edit         { return func(e *history.Event) { e.Key = k } }
func ref(r string) edit         { return func(e *history.Event) { e.Ref = r } }
func print(f string) edit       { return func(e *history.Event) { e.Fingerprint = f } }
func under(op string) edit      { return func(e *history.Event) { e.Operation = op } }
func amount(n int64) edit       { return func(e *history.Event) { e.Amount = n } }
func body(b string) edit        { return func(e *history.Event) { e.Body = b } }
func providerKey(k string) edit { return func(e *history.Event) { e.ProviderKey = k } }
func nobodys(e *history.Event)  { e.Attempt = 0 } // over HTTP the provider is not told whose call it is
func failed(e *history.Event)   { e.Err = "provider: internal error" }
func down(e *history.Event)     { e.Err = "store unavailable" }
func lease(ms int64) edit       { return func(e *history.Event) { e.LeaseMS = ms } }
func ttl(ms int64) edit         { return func(e *history.Event) { e.TTLMS = ms } }
func to(state string) edit      { return func(e *history.Event) { e.State = state } }
func token(t string) edit       { return func(e *history.Event) { e.Token = t } }
func fence(n int64) edit        { return func(e *history.Event) { e.Fence = n } }
func count(n int) edit          { return func(e *history.Event) { e.N = n } }
func name(n string) edit        { return func(e *history.Event) { e.Name = n } }
func mine(fence int64) edit {
	return func(e *history.Event) {
		e.Mine, e.Fence, e.Generation, e.State, e.Took = true, fence, 1, "pending", fence > 1
	}
}

// other is a second logical operation: another amount, so another ref and print.
func other(e *history.Event) { e.Ref, e.Fingerprint, e.Amount = "r2", "f2", 5 }
