package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Claim implements store.Store.
func (s *Store) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	if err := ctx.Err(); err != nil {
		return store.Claimed{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clk.Now()
	e, err := s.findRecord(c.Name, now)
	switch {
	case err != nil:
		return store.Claimed{}, err
	case e == nil:
		e = &entry{record: store.Record{Name: c.Name, Fingerprint: c.Fingerprint, Generation: 1}}
		s.entries[c.Name] = e
		return e.grant(c, now), nil
	case !slices.Contains(c.Fingerprints, e.record.Fingerprint):
		return store.Claimed{Record: e.seen(now)}, nil // mismatch first, in every state
	case e.claimable(c.Token, now):
		return e.grant(c, now), nil
	}
	claimed := store.Claimed{Record: e.seen(now)}
	if c.Wait && e.record.State == store.Pending {
		claimed.Ticket = s.register(c.Name)
	}
	return claimed, nil
}

// claimable reports whether a claim with an equal fingerprint gets the record.
func (e *entry) claimable(token string, now time.Time) bool {
	ended := !now.Before(e.lease)
	switch e.record.State {
	case store.Free:
		return true
	case store.Pending:
		return ended || e.record.Token == token
	case store.Unknown:
		return ended // for its former owner too: it does not know more than others
	default:
		return false
	}
}

// grant makes the claim's caller the owner. Fingerprint and generation stay as
// they are; the fence rises, unless this is the same claim once more.
func (e *entry) grant(c store.Claim, now time.Time) store.Claimed {
	r := &e.record
	held := r.State == store.Pending || r.State == store.Unknown
	again := r.State == store.Pending && r.Token == c.Token
	if !again {
		r.Fence++
	}
	r.State, r.Token, r.Failure = store.Pending, c.Token, ""
	e.lease = now.Add(c.Lease)
	e.retain(now, c.Retention)
	return store.Claimed{Mine: true, Took: held && !again, Record: e.seen(now)}
}
