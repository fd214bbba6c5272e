package scenarios

import (
	"context"
	"fmt"

	"github.com/idemrace/idemrace/target"
)

// Many is the step "many clients send, each with a key of its own".
type Many struct {
	Client string `yaml:"client,omitempty"` // clients are named Client1, Client2, …
	Keys   int    `yaml:"keys,omitempty"`
}

func (m Many) String() string {
	return fmt.Sprintf("%d clients %s1 … %s%d send, each with a key of its own", m.Keys, m.Client, m.Client, m.Keys)
}

// Needs nothing.
func (m Many) Needs() []Ability { return nil }

// Play sends them all.
func (m Many) Play(_ context.Context, st Stage) error { return st.Send(m.attempts()...) }

func (m Many) attempts() []target.Attempt {
	var all []target.Attempt
	for i := range m.Keys {
		s := Send{Client: fmt.Sprintf("%s%d", m.Client, i+1), Key: fmt.Sprintf("order-%d", i+1), Ref: fmt.Sprintf("r%d", i+1), Amount: int64(100 + i)}
		all = append(all, s.attempt())
	}
	return all
}
