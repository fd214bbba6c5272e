package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/idemrace/idemrace/store"
)

// lab is one law's room: the subject, and what keeps the laws short. Its
// methods fail the test on any error.
type lab struct {
	*testing.T
	Subject
	ctx     context.Context
	another func() Subject // with other records, on the same server
}

// claimOf is a claim with usual values.
func claimOf(name, token string) store.Claim {
	return store.Claim{
		Name: name, Token: token,
		Fingerprint: payload, Fingerprints: []string{payload, older},
		Lease: lease, Retention: retention,
	}
}

// finalOf is a settlement with a result.
func finalOf(name, token, result string) store.Settlement {
	return store.Settlement{
		Name: name, Token: token, To: store.Done,
		Result: []byte(result), Retention: retention, Fingerprint: payload,
	}
}

// freeOf is a release after a failure that may have had an effect.
func freeOf(name, token, failure string) store.Settlement {
	return store.Settlement{Name: name, Token: token, To: store.Free, Failure: failure, Retention: retention}
}

// unknownOf marks the outcome unknown.
func unknownOf(name, token, why string) store.Settlement {
	return store.Settlement{Name: name, Token: token, To: store.Unknown, Failure: why, Retention: retention}
}

func (l lab) claim(c store.Claim) store.Claimed {
	l.Helper()
	got, err := l.Store.Claim(l.ctx, c)
	if err != nil {
		l.Fatalf("claim %q by %s: %v", c.Name, c.Token, err)
	}
	return got
}

// own claims and insists on getting it.
func (l lab) own(name, token string) store.Claimed {
	l.Helper()
	got := l.claim(claimOf(name, token))
	if !got.Mine || got.Record.State != store.Pending || got.Record.Token != token {
		l.Fatalf("claim %q by %s: not mine: %+v", name, token, got)
	}
	return got
}

// wait claims what another holds, and insists on a ticket.
func (l lab) wait(name, token string) store.Ticket {
	l.Helper()
	c := claimOf(name, token)
	c.Wait = true
	got := l.claim(c)
	if got.Mine || got.Ticket == 0 {
		l.Fatalf("waiting claim of %q by %s: no ticket: %+v", name, token, got)
	}
	return got.Ticket
}

func (l lab) await(t store.Ticket, limit time.Duration) store.Notice {
	l.Helper()
	n, err := l.Store.Await(l.ctx, t, limit)
	if err != nil {
		l.Fatalf("await: %v", err)
	}
	return n
}

func (l lab) settle(s store.Settlement) store.Settled {
	l.Helper()
	got, err := l.Store.Settle(l.ctx, s)
	if err != nil {
		l.Fatalf("settle %q by %s to %s: %v", s.Name, s.Token, s.To, err)
	}
	return got
}

// applied settles and insists that it counts.
func (l lab) applied(s store.Settlement) store.Record {
	l.Helper()
	got := l.settle(s)
	if !got.Applied || got.Record.State != s.To {
		l.Fatalf("settle %q by %s to %s: not applied: %+v", s.Name, s.Token, s.To, got)
	}
	return got.Record
}

// refused settles and insists that nothing changed.
func (l lab) refused(s store.Settlement) {
	l.Helper()
	before := l.records()
	if got := l.settle(s); got.Applied {
		l.Fatalf("settle %q by %s to %s: applied: %+v", s.Name, s.Token, s.To, got)
	}
	l.same(before, l.records())
}

func (l lab) endLeases() int {
	l.Helper()
	n, err := l.Controller.EndLeases(l.ctx)
	if err != nil {
		l.Fatalf("end leases: %v", err)
	}
	return n
}

func (l lab) records() []store.Record {
	l.Helper()
	rs, err := l.Inspector.Records(l.ctx)
	if err != nil {
		l.Fatalf("inspect: %v", err)
	}
	return rs
}

// record is the only one there, or the one with that name.
func (l lab) record(name string) store.Record {
	l.Helper()
	for _, r := range l.records() {
		if r.Name == name {
			return r
		}
	}
	return store.Record{Name: name}
}

// same compares records in all but the time left on them.
func (l lab) same(before, after []store.Record) {
	l.Helper()
	if len(before) != len(after) {
		l.Fatalf("records changed: %+v became %+v", before, after)
	}
	for i := range before {
		l.equal(after[i], before[i])
	}
}

func (l lab) equal(got, want store.Record) {
	l.Helper()
	if got.Name != want.Name || got.State != want.State || got.Fingerprint != want.Fingerprint ||
		got.Token != want.Token || got.Fence != want.Fence || got.Generation != want.Generation ||
		got.Form != want.Form || string(got.Result) != string(want.Result) || got.Failure != want.Failure {
		l.Fatalf("record is %+v, want %+v", got, want)
	}
}

// twin is the lab of a second worker on the same records.
func (l lab) twin() lab {
	l.Subject = l.Subject.Twin()
	return l
}

// until asks again and again; the law is broken if the answer never becomes yes.
func (l lab) until(what string, yes func() bool) {
	l.Helper()
	for !yes() {
		if l.ctx.Err() != nil {
			l.Fatalf("never: %s", what)
		}
	}
}
