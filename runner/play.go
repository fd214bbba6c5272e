package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/target"
)

// The methods below are scenarios.Stage.
var _ scenarios.Stage = (*stage)(nil)

func (st *stage) Send(a target.Attempt) error {
	st.attempts++
	a.Number = st.attempts
	fp, err := target.Fingerprint(a)
	if err != nil {
		return err
	}
	st.rec.Record(history.Event{Kind: history.Send, Attempt: a.Number, Client: a.Client, Worker: a.Worker,
		Tenant: a.Tenant, Operation: a.Operation, Key: a.Key, Ref: a.Ref, Amount: a.Amount, Fingerprint: fp.String()})
	client, hangUp := context.WithCancelCause(st.clients)
	st.sent[a.Client] = sent{a, hangUp}
	st.open.Go(func() {
		defer hangUp(nil)
		r := st.target.Send(client, a)
		st.rec.Record(history.Event{Kind: history.Answer, Attempt: a.Number, Client: a.Client, Worker: a.Worker,
			Tenant: a.Tenant, Operation: a.Operation, Key: a.Key, Ref: a.Ref,
			Answer: r.Answer, Source: r.Source, Charge: r.Charge, Amount: r.Amount, Body: r.Body, Err: st.backend.Hide(r.Detail)})
	})
	return nil
}

func (st *stage) Await(ctx context.Context, cond func([]history.Event) bool) error {
	if st.entry.Unseen {
		return st.awaitUnseen(ctx, cond)
	}
	return st.rec.Await(ctx, cond)
}

func (st *stage) Join(ctx context.Context) error {
	sent := st.attempts
	return st.rec.Await(ctx, func(events []history.Event) bool {
		answers := 0
		for _, e := range events {
			if e.Kind == history.Answer {
				answers++
			}
		}
		return answers >= sent
	})
}

func (st *stage) Idle(ctx context.Context) error { return st.target.Idle(ctx) }

func (st *stage) Pass(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (st *stage) Provider() *fakeprovider.Provider { return st.provider }

func (st *stage) Fault(op, worker string, n int, ttl time.Duration) {
	st.rec.Record(history.Event{Kind: history.Fault, Op: op, Worker: worker, N: n, TTLMS: ttl.Milliseconds()})
}

func (st *stage) StoreDown() error {
	if st.proxy == nil {
		return fmt.Errorf("%w: cut this store", scenarios.ErrUnable)
	}
	st.proxy.Down()
	return nil
}

func (st *stage) StoreUp() error {
	if st.proxy == nil {
		return fmt.Errorf("%w: mend this store", scenarios.ErrUnable)
	}
	return st.proxy.Up()
}

// EndLeases also ends the claims that do not say that they are: it deletes them,
// as their ttl would.
func (st *stage) EndLeases(ctx context.Context) (int, error) {
	if st.entry.EndLeases != nil {
		return st.entry.EndLeases(ctx, st.direct)
	}
	n, err := st.control.EndLeases(ctx)
	if err != nil {
		return n, err
	}
	for _, name := range st.rec.Claims() {
		_, found, err := st.plain.Get(ctx, name)
		if err == nil && found {
			n++
			err = st.plain.Delete(ctx, name)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (st *stage) SetExpiry(ctx context.Context, d time.Duration) (int, error) {
	return st.control.SetExpiry(ctx, d)
}

func (st *stage) Kill(worker string) error {
	if l := st.lines[worker]; l != nil {
		l.proxy.Down()
	}
	return st.target.Kill(worker)
}

func (st *stage) Pause(worker string, afterCalls int) error {
	if l := st.lines[worker]; l != nil {
		l.pause()
	}
	return st.target.Pause(worker, afterCalls)
}

func (st *stage) Resume(worker string) error {
	if l := st.lines[worker]; l != nil {
		l.resume()
	}
	return st.target.Resume(worker)
}

// errHungUp is why a client's context ends.
var errHungUp = errors.New("the client hung up")

// sent is a client's last attempt, and how to end its patience.
type sent struct {
	attempt target.Attempt
	hangUp  context.CancelCauseFunc
}

func (st *stage) HangUp(client string) error {
	s, ok := st.sent[client]
	if !ok {
		return fmt.Errorf("client %s has sent nothing", client)
	}
	if st.answered(client) {
		return nil // too late to leave
	}
	st.rec.Record(history.Event{Kind: history.HangUp, Attempt: s.attempt.Number, Client: client, Key: s.attempt.Key, Ref: s.attempt.Ref})
	s.hangUp(errHungUp)
	return nil
}

func (st *stage) answered(client string) bool {
	for _, e := range st.rec.History().Events {
		if e.Kind == history.Answer && e.Client == client {
			return true
		}
	}
	return false
}

// Inspect records what the store holds now.
func (st *stage) Inspect(ctx context.Context) error {
	records, err := st.inspect.Records(ctx)
	if err != nil {
		return fmt.Errorf("reading the records: %w", err)
	}
	silent := st.rec.Claims()
	for _, r := range records {
		e := recordSeen(r)
		if slices.Contains(silent, r.Name) {
			e.State, e.LeaseMS = string(store.Pending), e.TTLMS // a plain claim lasts as long as its value
		}
		st.rec.Record(e)
	}
	return nil
}

func (st *stage) Settle(ctx context.Context) error {
	if err := st.target.Idle(ctx); err != nil {
		return err
	}
	if err := st.provider.AwaitQuiet(ctx); err != nil {
		return err
	}
	if err := st.Inspect(ctx); err != nil {
		return err
	}
	st.rec.Record(history.Event{Kind: history.Settled})
	return nil
}

func recordSeen(r store.Record) history.Event {
	e := history.Event{Kind: history.RecordSeen, Name: r.Name, State: string(r.State), Fence: r.Fence, Generation: r.Generation,
		Token: r.Token, Fingerprint: r.Fingerprint, LeaseMS: r.LeaseLeft.Milliseconds(), TTLMS: r.ExpiresIn.Milliseconds()}
	if r.ExpiresIn < 0 {
		e.TTLMS = -1
	}
	return e
}
