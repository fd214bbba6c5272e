package scenarios

import (
	"context"
	"fmt"
	"time"
)

// Pass is the step "time goes by". Only what is about real time uses it; to make
// a race, wait for an event.
type Pass struct {
	For time.Duration `yaml:"for,omitempty"`
}

func (p Pass) String() string { return fmt.Sprintf("%d ms go by", p.For.Milliseconds()) }

// Needs nothing.
func (p Pass) Needs() []Ability { return nil }

// Play lets it go by.
func (p Pass) Play(ctx context.Context, st Stage) error { return st.Pass(ctx, p.For) }
