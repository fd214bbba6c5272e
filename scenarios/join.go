package scenarios

import "context"

// Join is the step "wait for all answers".
type Join struct{}

func (Join) String() string   { return "wait for every answer" }
func (Join) Needs() []Ability { return nil }

// Play waits.
func (Join) Play(ctx context.Context, st Stage) error { return st.Join(ctx) }

// Settle is the last step of every script: late charges count.
type Settle struct{}

func (Settle) String() string   { return "settle: wait until no call is open; late charges count" }
func (Settle) Needs() []Ability { return nil }

// Play settles.
func (Settle) Play(ctx context.Context, st Stage) error { return st.Settle(ctx) }

// Idle is the step "wait until no living worker has a request under way": a
// client that hangs up does not end its own.
type Idle struct{}

func (Idle) String() string   { return "wait until the workers have nothing under way" }
func (Idle) Needs() []Ability { return nil }

// Play waits.
func (Idle) Play(ctx context.Context, st Stage) error { return st.Idle(ctx) }
