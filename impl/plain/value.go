package plain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Value is what stands under a key. Its "state" is what a store.Inspector shows.
type Value struct {
	State       store.State `json:"state"`           // Pending or Done
	Token       string      `json:"token,omitempty"` // whose claim or result it is
	Fingerprint string      `json:"fingerprint"`
	Form        store.Form  `json:"form,omitempty"`   // of the result: Inline or TooLarge
	Result      []byte      `json:"result,omitempty"` // base64: it has to come back byte for byte

	// What only broken coordinators write.
	Failure  string    `json:"failure,omitempty"`  // a failure that is kept as if it were a result
	LeaseEnd time.Time `json:"lease_end,omitzero"` // by the owner's own clock
}

// Pending is this attempt's claim.
func (a *Attempt) Pending() Value {
	return Value{State: store.Pending, Token: a.Token, Fingerprint: a.Req.Fingerprint.String()}
}

// Done is this attempt's result; of one over the limit only that it was.
func (a *Attempt) Done(result []byte) Value {
	v := Value{State: store.Done, Token: a.Token, Fingerprint: a.Req.Fingerprint.String(), Result: result}
	if len(result) > a.Config.MaxResult {
		v.Form, v.Result = store.TooLarge, nil
	}
	return v
}

// Owns reports whether the value is this attempt's.
func (a *Attempt) Owns(v Value) bool { return v.Token == a.Token }

// Read is a GET; nil if nothing stands there. What cannot be read is an error, and
// nobody runs then: it may be a result.
func (a *Attempt) Read(ctx context.Context) (*Value, error) {
	kept, found, err := a.KV.Get(ctx, a.Name)
	if err != nil || !found {
		return nil, err
	}
	a.sawOther = true
	var v Value
	if err := json.Unmarshal(kept, &v); err != nil {
		return nil, err
	}
	if v.State != store.Pending && v.State != store.Done {
		return nil, fmt.Errorf("a value in state %q", v.State)
	}
	return &v, nil
}

// Put is a SET: whatever stands there is replaced.
func (a *Attempt) Put(ctx context.Context, v Value, ttl time.Duration) error {
	return a.KV.Set(ctx, a.Name, v.encode(), ttl)
}

// putNew is a SET NX: only where nothing stands.
func (a *Attempt) putNew(ctx context.Context, v Value, ttl time.Duration) (bool, error) {
	return a.KV.SetNX(ctx, a.Name, v.encode(), ttl)
}

func (v Value) encode() []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: strings, bytes and a clock's time always marshal
	}
	return b
}
