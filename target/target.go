// Package target is something an attempt can be sent to: here a coordinator in
// this process, with workers that can die.
//
// A target answers in the words of package history. It refuses to judge, and it
// never decides what to send or when: scenarios do.
package target

import (
	"context"

	"github.com/idemrace/idemrace/history"
)

// Attempt is one sending of a keyed request by one client.
type Attempt struct {
	Number    int // from 1, in order of sending
	Client    string
	Worker    string // which one it is aimed at
	Tenant    string
	Operation string
	Key       string
	Ref       string // of the logical operation
	Amount    int64  // minor units
	Pad       int    // bytes of ballast in the answer
}

// Response is what the client sees.
type Response struct {
	Answer string // history.OK, history.InProgress, …
	Source string // where a coordinator says it came from; "" if it does not say
	Charge string // the charge that the answer names
	Amount int64  // as the answer names it
	Body   string
	Detail string // an error in words
}

// Target can be sent attempts, concurrently. Send returns when the client has
// an answer, its context ends (hung up), or it can never have one (unknown).
type Target interface {
	Send(ctx context.Context, a Attempt) Response
}

// Mortal targets have workers that can be killed: from then on nothing a killed
// worker does reaches the store, the provider or a client, while a provider call
// already under way goes on.
type Mortal interface {
	Kill(worker string) error
}

func hungUp(ctx context.Context) Response {
	return Response{Answer: history.HungUp, Detail: context.Cause(ctx).Error()}
}
