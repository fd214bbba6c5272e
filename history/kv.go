package history

import (
	"context"
	"time"

	"github.com/idemrace/idemrace/store"
)

// KV returns inner with every command recorded as one of worker's. A call's
// State is what the value to be written says, or Pending for one that claims
// without saying so; a return's State is that of the value read. Applied: the command did something (a setnx that won, a get that
// found).
func KV(rec *Recorder, worker string, inner store.KV) store.KV {
	return recordedKV{calls: calls{rec, worker}, inner: inner}
}

type recordedKV struct {
	calls
	inner store.KV
}

func (k recordedKV) Get(ctx context.Context, name string) ([]byte, bool, error) {
	end := k.begin(ctx, Event{Op: OpGet, Name: name})
	value, found, err := k.inner.Get(ctx, name)
	if err == nil && found {
		end.State, end.Applied = string(store.ValueState(value)), true
		if k.rec.isClaim(name, value) {
			end.State = string(store.Pending)
		}
	}
	k.end(end, err)
	return value, found, err
}

func (k recordedKV) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	state := string(store.ValueState(value))
	end := k.begin(ctx, Event{Op: OpSet, Name: name, State: state, TTLMS: ttl.Milliseconds()})
	err := k.inner.Set(ctx, name, value, ttl)
	end.Applied = err == nil
	if err == nil {
		end.State = state
		k.rec.wrote(name, value, false)
	}
	k.end(end, err)
	return err
}

func (k recordedKV) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error) {
	state, claim := string(store.ValueState(value)), k.silentClaim(ctx, value)
	if claim {
		state = string(store.Pending)
	}
	end := k.begin(ctx, Event{Op: OpSetNX, Name: name, State: state, TTLMS: ttl.Milliseconds()})
	won, err := k.inner.SetNX(ctx, name, value, ttl)
	end.Applied = won && err == nil
	if end.Applied {
		end.State = state
		k.rec.wrote(name, value, claim)
	}
	k.end(end, err)
	return won, err
}

func (k recordedKV) Expire(ctx context.Context, name string, ttl time.Duration) error {
	end := k.begin(ctx, Event{Op: OpExpire, Name: name, TTLMS: ttl.Milliseconds()})
	err := k.inner.Expire(ctx, name, ttl)
	end.Applied = err == nil
	k.end(end, err)
	return err
}

func (k recordedKV) Delete(ctx context.Context, name string) error {
	end := k.begin(ctx, Event{Op: OpDelete, Name: name})
	err := k.inner.Delete(ctx, name)
	end.Applied = err == nil
	if err == nil {
		k.rec.wrote(name, nil, false)
	}
	k.end(end, err)
	return err
}
