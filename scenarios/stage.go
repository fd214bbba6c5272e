package scenarios

import (
	"context"
	"errors"
	"time"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/target"
)

// Ability is something that a step needs from a target or its surroundings. A
// cell whose target or store lacks one is not applicable, by this name.
type Ability string

// The abilities.
const (
	CutStore        Ability = "a store behind a proxy, to cut" // store down and up
	EndClaims       Ability = "leases that can be ended"       // by command, or because they are declared and short
	ControlStore    Ability = "a store that can be commanded"  // retentions ended by command, records looked at
	KillWorkers     Ability = "workers that can be killed"
	PauseWorkers    Ability = "workers that can be frozen"
	SeeStore        Ability = "a target whose store calls are seen" // and not one with a client of its own
	CommandProvider Ability = "a provider that obeys"               // calls held, delayed, failing
	TwoTenants      Ability = "requests that name a tenant"
	TwoOperations   Ability = "requests that name an operation"
	OddKeys         Ability = "keys with white space at an end, or control characters" // HTTP cannot carry them
	TraceField      Ability = "requests with a field that does not define them"
	MovedMembers    Ability = "a payload whose members can change places"
	BigAnswers      Ability = "answers of a size that can be chosen"
)

// ErrUnable is wrapped when a stage is asked for what it cannot do.
var ErrUnable = errors.New("the stage is not able to")

// Stage is where steps are played. Every fault goes into the recorded history.
type Stage interface {
	// Send starts attempts, several so that they leave together; it does not wait
	// for the answers.
	Send(attempts ...target.Attempt) error
	// Await blocks until the history so far meets cond.
	Await(ctx context.Context, cond func([]history.Event) bool) error
	// Join blocks until every attempt sent has its answer.
	Join(ctx context.Context) error
	// Idle blocks until no living worker has a request under way.
	Idle(ctx context.Context) error
	// Pass lets real time go by.
	Pass(ctx context.Context, d time.Duration) error
	// Provider is the one that the target charges through.
	Provider() *fakeprovider.Provider
	// Fault records a disturbance that this step has made.
	Fault(op string, worker string, n int, ttl time.Duration)

	StoreDown() error
	StoreUp() error
	// Disturb lets a fault act on the way to the store, Heal ends all of them and
	// records how often each fired, AwaitDisturbed blocks until one has.
	Disturb(op string, d Disturbance) error
	AwaitDisturbed(ctx context.Context) error
	Heal() error
	EndLeases(ctx context.Context) (int, error)
	SetExpiry(ctx context.Context, d time.Duration) (int, error)
	Kill(worker string) error
	// Pause stops a worker before its next call, or once afterCalls more of its
	// store calls have been applied, with the reply not seen yet.
	Pause(worker string, afterCalls int) error
	Resume(worker string) error
	// HangUp is a client that stops waiting for its answer.
	HangUp(client string) error
	// Inspect records what the store holds now.
	Inspect(ctx context.Context) error
	// Settle blocks until no provider call is open and the ledger is quiet, and
	// records what the store then holds.
	Settle(ctx context.Context) error
}

// Step is one line of a script.
type Step interface {
	// String is the line as a person would say it, for explain and for errors.
	String() string
	// Needs is what the step cannot be played without.
	Needs() []Ability
	// Play does it, and returns when it is done.
	Play(ctx context.Context, s Stage) error
}
