package scenarios

import "context"

// Inspect is the step "look at the records": what they are, and how long their
// claims and they themselves will last.
type Inspect struct{}

func (Inspect) String() string   { return "look at the store's records" }
func (Inspect) Needs() []Ability { return []Ability{ControlStore} }

// Play records them.
func (Inspect) Play(ctx context.Context, st Stage) error { return st.Inspect(ctx) }
