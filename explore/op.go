package explore

import (
	"fmt"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Kind is what sort of step an actor is about to make.
type Kind uint8

// The kinds of steps. Start is a client's first: it sends its request.
const (
	Start Kind = iota
	Claim
	Settle
	Await
	Get
	Set
	SetNX
	Expire
	Delete
	Sleep
	Arrive // a call reaches the provider
	Commit // the provider charges, and answers
)

func (k Kind) String() string {
	return [...]string{"start", "claim", "settle", "await", "get", "set", "setnx", "expire", "delete", "sleep", "arrive", "commit"}[k]
}

// store: the step is a command to the store, which can fail on the way.
func (k Kind) store() bool { return k >= Claim && k <= Delete && k != Await }

// provider: the step is one of a call's two.
func (k Kind) provider() bool { return k == Arrive || k == Commit }

// Op is what an actor has parked before.
type Op struct {
	Kind   Kind
	Object string        // the stored name, or "provider": what the step reads or writes
	Writes bool          // else it only reads
	Detail string        // what tells two steps of one kind apart: the state that is settled
	Until  time.Duration // Sleep and Await: when it is over at the latest
	ticket store.Ticket  // Await
	call   int           // Commit: whose; 1-based
}

// label is stable under small changes of a coordinator's code.
func (o Op) label() string {
	if o.Detail == "" {
		return o.Kind.String()
	}
	return o.Kind.String() + " " + o.Detail
}

// Act is how a step goes.
type Act uint8

// The ways a step can go.
const (
	Go         Act = iota // as it should
	FailBefore            // the store does not get it, and the caller gets an error
	LoseReply             // the store does it, and the caller gets an error
	ChargeLost            // the provider charges and its answer is lost
	FailCall              // the provider does not charge, and nobody can tell
	Decline               // the provider refuses, and says so
	HideCharge            // the provider charges, and answers with an error
	Leave                 // the caller's deadline ends its call; the call goes on
	Crash                 // the client's worker dies before the step
	HangUp                // the client leaves before the step; its worker goes on
)

// String is the way in words; "" is as it should.
func (a Act) String() string {
	return [...]string{"", "fails", "reply lost", "charged, answer lost", "not charged, no answer", "declined", "charged, answered with an error",
		"deadline", "dies", "hangs up"}[a]
}

// fault: the store or the provider fails by choice.
func (a Act) fault() bool { return a >= FailBefore && a <= HideCharge }

// The actors that are no client.
const (
	theClock    = -1
	theProvider = -2
)

// Choice is one step of a schedule: who, how.
type Choice struct {
	Actor int // a client by index; theClock; theProvider (a call whose caller is gone)
	Act   Act
	Call  int // theProvider: which call; theClock: 1 jumps to a lease's end; a client: which renewal
}

// plain: a client's own next step, made as it should be.
func (c Choice) plain() bool { return c.Actor >= 0 && c.Act == Go && c.Call == 0 }

// Step is a choice as it was taken, by labels, so that it can be taken again.
type Step struct {
	Who  string `json:"who"` // A, B, …; clock; provider
	What string `json:"what"`
	How  string `json:"how,omitempty"`
}

func (s Step) String() string {
	if s.How == "" {
		return s.Who + " " + s.What
	}
	return fmt.Sprintf("%s %s (%s)", s.Who, s.What, s.How)
}
