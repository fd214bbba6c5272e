package history

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Operations of the store's ports, as Event.Op spells them.
const (
	OpClaim  = "claim"
	OpSettle = "settle"
	OpAwait  = "await"
	OpKeep   = "keep"
	OpRenew  = "renew" // one renewal of a keep
	OpGet    = "get"
	OpSet    = "set"
	OpSetNX  = "setnx"
	OpExpire = "expire"
	OpDelete = "delete"
)

// ClassUnavailable is the Class of a store's return that failed because the store
// was away, and not because of what it was asked.
const ClassUnavailable = "unavailable"

// Store returns inner with every call recorded as one of worker's. A Keep is one
// call that returns when it is stopped, with an error if the lease was lost or ran
// too long; the renewals in between, which the store sends by itself, are calls
// too, and Applied if they lengthened a lease.
func Store(rec *Recorder, worker string, inner store.Store) store.Store {
	return &recordedStore{calls: calls{rec, worker}, inner: inner}
}

// calls pairs calls with their returns.
type calls struct {
	rec    *Recorder
	worker string
}

// begin records e as a call, and returns what its return must repeat.
func (c calls) begin(ctx context.Context, e Event) Event {
	e.Kind, e.Call, e.Attempt, e.Worker = StoreCall, c.rec.call(), AttemptOf(ctx), c.worker
	c.rec.Record(e)
	return Event{Kind: StoreReturn, Call: e.Call, Op: e.Op, Attempt: e.Attempt, Worker: e.Worker, Name: e.Name}
}

func (c calls) end(e Event, err error) {
	if err != nil {
		e.Err = err.Error()
	}
	if errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrMisuse) {
		e.Class = ClassUnavailable
	}
	c.rec.Record(e)
}

type recordedStore struct {
	calls
	inner store.Store
	names sync.Map // store.Ticket → stored name, between claim and await
}

func (s *recordedStore) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	end := s.begin(ctx, Event{Op: OpClaim, Name: c.Name, Token: c.Token, Fingerprint: c.Fingerprint,
		LeaseMS: c.Lease.Milliseconds(), TTLMS: c.Retention.Milliseconds()})
	got, err := s.inner.Claim(ctx, c)
	if got.Ticket != 0 {
		s.names.Store(got.Ticket, c.Name)
	}
	if err == nil {
		end = withRecord(end, got.Record)
		end.Mine, end.Took = got.Mine, got.Took
	}
	s.end(end, err)
	return got, err
}

func (s *recordedStore) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	end := s.begin(ctx, Event{Op: OpSettle, Name: t.Name, Token: t.Token, Fingerprint: t.Fingerprint,
		State: string(t.To), TTLMS: t.Retention.Milliseconds()})
	got, err := s.inner.Settle(ctx, t)
	if err == nil {
		end = withRecord(end, got.Record)
		end.Applied = got.Applied
	}
	s.end(end, err)
	return got, err
}

func (s *recordedStore) Await(ctx context.Context, t store.Ticket, limit time.Duration) (store.Notice, error) {
	name, _ := s.names.LoadAndDelete(t)
	call := Event{Op: OpAwait}
	call.Name, _ = name.(string)
	end := s.begin(ctx, call)
	got, err := s.inner.Await(ctx, t, limit)
	if err == nil && got.Settled {
		end = withRecord(end, got.Record)
		end.N = 1
	}
	s.end(end, err)
	return got, err
}

func (s *recordedStore) Keep(ctx context.Context, r store.Renewal) (context.Context, func()) {
	end := s.begin(ctx, Event{Op: OpKeep, Name: r.Name, Token: r.Token, LeaseMS: r.Lease.Milliseconds()})
	end.Token = r.Token
	kept, stop := s.inner.Keep(ctx, r.Within(func(renew func() (bool, error)) (bool, error) {
		return s.renewal(ctx, r, renew)
	}))
	var once sync.Once
	return kept, func() {
		stop()
		once.Do(func() { s.end(end, lost(kept)) })
	}
}

func (s *recordedStore) renewal(ctx context.Context, r store.Renewal, renew func() (bool, error)) (bool, error) {
	end := s.begin(ctx, Event{Op: OpRenew, Name: r.Name, Token: r.Token, LeaseMS: r.Lease.Milliseconds()})
	kept, err := renew()
	end.Applied = kept && err == nil
	s.end(end, err)
	return kept, err
}

// lost is why a kept context ended, if renewal ended it: a plain stop is no error.
func lost(kept context.Context) error {
	cause := context.Cause(kept)
	if errors.Is(cause, store.ErrLeaseLost) || errors.Is(cause, store.ErrRunTooLong) {
		return cause
	}
	return nil
}

func withRecord(e Event, r store.Record) Event {
	e.State, e.Token, e.Fingerprint = string(r.State), r.Token, r.Fingerprint
	e.Fence, e.Generation, e.LeaseMS = r.Fence, r.Generation, r.LeaseLeft.Milliseconds()
	return e
}
