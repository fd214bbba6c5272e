package scenarios

import (
	"context"
	"fmt"
	"time"
)

// StoreDown is the step "the store goes down": connections are cut, new ones refused.
type StoreDown struct{}

func (StoreDown) String() string   { return "the store goes down: connections are cut, new ones refused" }
func (StoreDown) Needs() []Ability { return []Ability{CutStore} }

// Play cuts.
func (StoreDown) Play(_ context.Context, st Stage) error {
	st.Fault("store-down", "", 0, 0)
	return st.StoreDown()
}

// StoreUp is the step "the store is back".
type StoreUp struct{}

func (StoreUp) String() string   { return "the store is back" }
func (StoreUp) Needs() []Ability { return []Ability{CutStore} }

// Play mends.
func (StoreUp) Play(_ context.Context, st Stage) error {
	st.Fault("store-up", "", 0, 0)
	return st.StoreUp()
}

// EndLeases is the step "the lease ends", by command: real short leases would
// turn a stall of a shared machine into a double charge.
type EndLeases struct{}

func (EndLeases) String() string   { return "the lease of every claim ends" }
func (EndLeases) Needs() []Ability { return []Ability{EndClaims} }

// Play ends them. The fault is recorded twice: before, because a waiter can be
// faster than the command's reply, and after, with the number of leases ended.
func (EndLeases) Play(ctx context.Context, st Stage) error {
	st.Fault("end-leases", "", 0, 0)
	n, err := st.EndLeases(ctx)
	if err != nil {
		return err
	}
	st.Fault("end-leases", "", n, 0)
	return nil
}

// SetExpiry is the step "retention ends in d", by command; 0: it has ended.
type SetExpiry struct {
	In time.Duration `yaml:"in,omitempty"`
}

func (s SetExpiry) String() string {
	if s.In <= 0 {
		return "retention ends"
	}
	return fmt.Sprintf("retention is about to end (%v left)", s.In)
}

// Needs a store that can be commanded.
func (s SetExpiry) Needs() []Ability { return []Ability{ControlStore} }

// Play sets it. Recorded before and after, as EndLeases is.
func (s SetExpiry) Play(ctx context.Context, st Stage) error {
	st.Fault("set-expiry", "", 0, s.In)
	n, err := st.SetExpiry(ctx, s.In)
	if err != nil {
		return err
	}
	st.Fault("set-expiry", "", n, s.In)
	return nil
}
