package explore

import (
	"fmt"
	"time"
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
	Renew
	Arrive // a call reaches the provider
	Commit // the provider charges, and answers
	Tick   // the clock moves to the next deadline
)

func (k Kind) String() string {
	return [...]string{"start", "claim", "settle", "await", "get", "set", "setnx", "expire", "delete", "sleep", "renew", "arrive", "commit", "tick"}[k]
}

// store: the step is a command to the store, which can fail on the way.
func (k Kind) store() bool { return k >= Claim && k <= Delete && k != Await || k == Renew }

// Op is what an actor has parked before.
type Op struct {
	Kind   Kind
	Object string        // the stored name, or the provider's ref
	Writes bool          // else it only reads
	Detail string        // what tells two steps of one kind apart: the state that is settled
	Until  time.Duration // Sleep and Await: when it is over at the latest
	ticket uint64        // Await
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
	FailCall              // the provider fails without a charge, and nobody can tell
	Leave                 // the caller's deadline ends its call; the call goes on
	Crash                 // the client's worker dies before the step
)

func (a Act) String() string {
	return [...]string{"", "fails", "reply lost", "charged, answer lost", "no answer, not charged", "deadline", "dies"}[a]
}

// The actors that are no client.
const (
	theClock    = -1
	theProvider = -2
)

// Choice is one step of a schedule: who, how.
type Choice struct {
	Actor int // a client by index; theClock; theProvider (a call whose caller is gone)
	Act   Act
	Call  int // theProvider: which call
}

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
