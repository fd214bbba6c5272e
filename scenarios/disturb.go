package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/faultproxy"
)

// Disturbance is a fault on the way to the store that says how often it fired.
type Disturbance interface {
	faultproxy.Fault
	Fired() int
}

// Of says which command of an attempt a store fault is about.
type Of string

// The commands, by what they mean to an attempt; see matching.
const (
	TheClaim      Of = "claim"      // the first command: a claim, or a look-up
	TheCompletion Of = "completion" // the command that writes the result
)

// LoseReply is the step "the next such command is applied, and its reply is lost".
type LoseReply struct {
	Of Of `yaml:"of,omitempty"`
}

func (l LoseReply) String() string {
	return fmt.Sprintf("the reply of the next %s will be lost: it is applied, and the connection is cut", l.Of)
}

// Needs a store behind a proxy.
func (l LoseReply) Needs() []Ability { return []Ability{CutStore} }

// Play arms the fault; Heal disarms it.
func (l LoseReply) Play(_ context.Context, st Stage) error {
	return st.Disturb("store-lose-reply", &faultproxy.LoseReply{Match: matching(l.Of), Times: 1})
}

// CutBefore is the step "such commands do not reach the store".
type CutBefore struct {
	Of Of `yaml:"of,omitempty"`
}

func (c CutBefore) String() string {
	return fmt.Sprintf("no %s reaches the store from now on: its connection is cut", c.Of)
}

// Needs a store behind a proxy.
func (c CutBefore) Needs() []Ability { return []Ability{CutStore} }

// Play arms the fault; Heal disarms it.
func (c CutBefore) Play(_ context.Context, st Stage) error {
	return st.Disturb("store-cut-before", &faultproxy.CutBefore{Match: matching(c.Of)})
}

// HoldStore is the step "such commands are held on the way to the store".
type HoldStore struct {
	Of Of `yaml:"of,omitempty"`
}

func (h HoldStore) String() string {
	return fmt.Sprintf("every %s is held on its way to the store", h.Of)
}

// Needs a store behind a proxy.
func (h HoldStore) Needs() []Ability { return []Ability{CutStore} }

// Play arms the fault; Heal lets go.
func (h HoldStore) Play(_ context.Context, st Stage) error {
	return st.Disturb("store-hold", &faultproxy.Hold{Match: matching(h.Of)})
}

// SlowStore is the step "every reply of the store comes late": the amplifier. A
// window between looking and setting is microseconds wide; so it is as wide as
// this.
type SlowStore struct {
	By time.Duration `yaml:"by,omitempty"`
}

func (s SlowStore) String() string {
	return fmt.Sprintf("every reply of the store comes %d ms late", s.By.Milliseconds())
}

// Needs a store behind a proxy.
func (s SlowStore) Needs() []Ability { return []Ability{CutStore} }

// Play arms the fault; Heal disarms it.
func (s SlowStore) Play(_ context.Context, st Stage) error {
	return st.Disturb("store-slow", &faultproxy.DelayReplies{By: s.By})
}

// Held is the step "wait until the store fault has fired": something is held, lost or cut.
type Held struct{}

func (Held) String() string   { return "wait until that has happened" }
func (Held) Needs() []Ability { return []Ability{CutStore} }

// Play waits.
func (Held) Play(ctx context.Context, st Stage) error { return st.AwaitDisturbed(ctx) }

// Heal is the step "the way to the store is as before".
type Heal struct{}

func (Heal) String() string   { return "the way to the store is as before" }
func (Heal) Needs() []Ability { return []Ability{CutStore} }

// Play ends every store fault and records how often each fired.
func (Heal) Play(_ context.Context, st Stage) error { return st.Heal() }
