package redisstore

import (
	"context"
	"errors"
	"slices"

	"github.com/idemrace/idemrace/store"
)

// inboxArg is where claim.lua expects the inbox, in its ARGV from 0.
const inboxArg = 4

// Claim implements store.Store. With Wait, the waiter is known here and the
// subscription is confirmed before the script is sent: whatever is published
// from the script's own moment on will be heard. Where that cannot be had (no
// right to the channel, no connection left), the claim is sent all the same, and
// gives no ticket: whether the key is free is known without it.
func (s *Store) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	var ticket store.Ticket
	channel := ""
	if c.Wait {
		ticket, channel = s.inbox.register(c.Name), s.inbox.channel
	}
	args := []any{c.Fingerprint, c.Token, millis(c.Lease), millis(c.Retention), channel}
	for _, f := range c.Fingerprints {
		args = append(args, f)
	}
	claimed, registered, err := s.claim(ctx, c, args)
	if !registered {
		s.inbox.forget(ticket)
		return claimed, err
	}
	s.inbox.expect(ticket, claimed.Record.Fence)
	claimed.Ticket = ticket
	return claimed, nil
}

func (s *Store) claim(ctx context.Context, c store.Claim, args []any) (claimed store.Claimed, registered bool, err error) {
	reply, err := s.repeat(ctx, s.scripts.claim.op, c.Name, func(ctx context.Context) (any, error) {
		if c.Wait {
			switch err := s.inbox.listen(ctx); {
			case errors.Is(err, errClosed):
				return nil, err
			case err != nil:
				return s.call(ctx, s.scripts.claim, c.Name, slices.Replace(slices.Clone(args), inboxArg, inboxArg+1, any(""))...)
			}
		}
		return s.call(ctx, s.scripts.claim, c.Name, args...)
	})
	if err != nil {
		return store.Claimed{}, false, err
	}
	flags, record, err := parseReply(c.Name, reply, 3)
	if err != nil {
		return store.Claimed{}, false, unavailable(ctx, "claim", err)
	}
	return store.Claimed{Mine: flags[0] == 1, Took: flags[1] == 1, Record: record}, flags[2] == 1, nil
}
