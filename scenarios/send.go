package scenarios

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/idemrace/idemrace/target"
)

// Defaults of a Send: what a newcomer need not read.
const (
	DefaultKey       = "order-42"
	DefaultOperation = "charge"
	DefaultRef       = "r1"
	DefaultAmount    = 100 // minor units
	DefaultWorker    = "w1"
)

// Send is the step "a client sends a request"; it does not wait for the answer.
type Send struct {
	Client    string        `yaml:"client,omitempty"`
	Worker    string        `yaml:"worker,omitempty"`
	Tenant    string        `yaml:"tenant,omitempty"`
	Operation string        `yaml:"operation,omitempty"`
	Key       string        `yaml:"key,omitempty"`
	EmptyKey  bool          `yaml:"empty-key,omitempty"` // the empty key, which Key cannot say
	Ref       string        `yaml:"ref,omitempty"`
	Amount    int64         `yaml:"amount,omitempty"`
	Pad       int           `yaml:"pad,omitempty"`       // bytes of ballast in the answer
	Trace     string        `yaml:"trace,omitempty"`     // a trace id in the payload, which does not define the request
	Reordered bool          `yaml:"reordered,omitempty"` // the payload's members in another order
	After     time.Duration `yaml:"after,omitempty"`     // pause before sending
	Times     int           `yaml:"times,omitempty"`     // that many clients at once, named Client1, Client2, …
	Workers   []string      `yaml:"workers,omitempty"`   // they are sent to these in turn; none: all to Worker
}

// String is e.g. "50 ms later B sends key order-42, amount 100".
func (s Send) String() string {
	a := s.attempt()
	var b strings.Builder
	if s.After > 0 {
		fmt.Fprintf(&b, "%d ms later ", s.After.Milliseconds())
	}
	if s.Times > 1 {
		fmt.Fprintf(&b, "%d clients %s1 … %s%d send", s.Times, s.Client, s.Client, s.Times)
	} else {
		fmt.Fprintf(&b, "%s sends", s.Client)
	}
	fmt.Fprintf(&b, " key %s, amount %d", sayKey(a.Key), a.Amount)
	if a.Operation != DefaultOperation {
		fmt.Fprintf(&b, ", operation %s", a.Operation)
	}
	if a.Tenant != "" {
		fmt.Fprintf(&b, ", tenant %s", a.Tenant)
	}
	if s.Worker != "" {
		fmt.Fprintf(&b, ", to worker %s", s.Worker)
	}
	if len(s.Workers) > 0 {
		fmt.Fprintf(&b, ", to workers %s in turn", strings.Join(s.Workers, " and "))
	}
	if s.Trace != "" {
		fmt.Fprintf(&b, ", trace %s", s.Trace)
	}
	if s.Reordered {
		b.WriteString(", members in another order")
	}
	if s.Pad > 0 {
		fmt.Fprintf(&b, "; the answer has %d bytes", s.Pad)
	}
	return b.String()
}

func sayKey(k string) string {
	if len(k) > 32 {
		return fmt.Sprintf("of %d characters", len([]rune(k)))
	}
	if k == "" || strings.TrimSpace(k) != k {
		return fmt.Sprintf("%q", k)
	}
	return k
}

// Needs what must differ on the wire.
func (s Send) Needs() []Ability {
	var needs []Ability
	for _, n := range []struct {
		asked bool
		of    Ability
	}{
		{s.Tenant != "", TwoTenants},
		{s.Operation != "" && s.Operation != DefaultOperation, TwoOperations},
		{oddKey(s.Key), OddKeys},
		{s.Trace != "", TraceField},
		{s.Reordered, MovedMembers},
		{s.Pad > 0, BigAnswers},
	} {
		if n.asked {
			needs = append(needs, n.of)
		}
	}
	return needs
}

// oddKey: the value of an HTTP header cannot be that.
func oddKey(k string) bool {
	return strings.TrimSpace(k) != k || strings.ContainsFunc(k, unicode.IsControl)
}

// Play sends.
func (s Send) Play(ctx context.Context, st Stage) error {
	if s.After > 0 {
		if err := st.Pass(ctx, s.After); err != nil {
			return err
		}
	}
	return st.Send(s.attempts()...)
}

// attempts are all that leave together.
func (s Send) attempts() []target.Attempt {
	if s.Times <= 1 {
		return []target.Attempt{s.attempt()}
	}
	var together []target.Attempt
	for i := range s.Times {
		a := s.attempt()
		a.Client = fmt.Sprintf("%s%d", s.Client, i+1)
		if len(s.Workers) > 0 {
			a.Worker = s.Workers[i%len(s.Workers)]
		}
		together = append(together, a)
	}
	return together
}

func (s Send) attempt() target.Attempt {
	a := target.Attempt{Client: s.Client, Worker: s.Worker, Tenant: s.Tenant, Operation: s.Operation,
		Key: s.Key, Ref: s.Ref, Amount: s.Amount, Pad: s.Pad,
		Trace: s.Trace, Reordered: s.Reordered}
	if a.Worker == "" {
		a.Worker = DefaultWorker
	}
	if a.Operation == "" {
		a.Operation = DefaultOperation
	}
	if a.Key == "" && !s.EmptyKey {
		a.Key = DefaultKey
	}
	if a.Ref == "" {
		a.Ref = DefaultRef
	}
	if a.Amount == 0 {
		a.Amount = DefaultAmount
	}
	return a
}
