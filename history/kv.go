package history

import (
	"context"
	"encoding/json"
	"time"

	"github.com/idemrace/idemrace/store"
)

// KV returns inner with every command recorded as one of worker's. A call's
// State is what the value to be written says; a return's State is what the value
// read says. Applied: the command did something (a setnx that won, a get that
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
		end.State, end.Applied = stateOf(value), true
	}
	k.end(end, err)
	return value, found, err
}

func (k recordedKV) Set(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	end := k.begin(ctx, Event{Op: OpSet, Name: name, State: stateOf(value), TTLMS: ttl.Milliseconds()})
	err := k.inner.Set(ctx, name, value, ttl)
	end.Applied = err == nil
	if err == nil {
		end.State = stateOf(value)
	}
	k.end(end, err)
	return err
}

func (k recordedKV) SetNX(ctx context.Context, name string, value []byte, ttl time.Duration) (bool, error) {
	end := k.begin(ctx, Event{Op: OpSetNX, Name: name, State: stateOf(value), TTLMS: ttl.Milliseconds()})
	won, err := k.inner.SetNX(ctx, name, value, ttl)
	end.Applied = won && err == nil
	if end.Applied {
		end.State = stateOf(value)
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
	k.end(end, err)
	return err
}

// stateOf reads a value as store.Inspector does: done, unless it is a JSON
// object whose member "state" says otherwise.
func stateOf(value []byte) string {
	var v struct {
		State *string `json:"state"`
	}
	if json.Unmarshal(value, &v) == nil && v.State != nil {
		return *v.State
	}
	return string(store.Done)
}
