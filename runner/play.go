package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store"
)

// The methods below are scenarios.Stage.
var _ scenarios.Stage = (*stage)(nil)

func (st *stage) Idle(ctx context.Context) error { return st.workers.Idle(ctx) }

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
	return st.workers.Kill(worker)
}

func (st *stage) Pause(worker string, afterCalls int) error {
	if l := st.lines[worker]; l != nil {
		l.pause()
	}
	return st.workers.Pause(worker, afterCalls)
}

func (st *stage) Resume(worker string) error {
	if l := st.lines[worker]; l != nil {
		l.resume()
	}
	return st.workers.Resume(worker)
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
	if err := st.workers.Idle(ctx); err != nil {
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
