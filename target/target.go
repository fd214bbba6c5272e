// Package target is something an attempt can be sent to: here a coordinator in
// this process, with workers that can die.
//
// A target answers in the words of package history. It refuses to judge, and it
// never decides what to send or when: scenarios do.
package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
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
	Trace     string // a trace id and a time stamp in the payload; "": none
	Reordered bool   // the payload's members in another order
}

// Payload is the request's body: what defines the charge (amount, currency),
// the ref, and what does not define it (trace, sent_at).
func (a Attempt) Payload() []byte {
	members := []string{
		fmt.Sprintf(`"amount":%d`, a.Amount), `"currency":"EUR"`, fmt.Sprintf(`"ref":%q`, a.Ref),
	}
	if a.Trace != "" {
		members = append(members, fmt.Sprintf(`"trace":%q`, a.Trace), fmt.Sprintf(`"sent_at":%d`, a.Number))
	}
	if a.Reordered {
		slices.Reverse(members)
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}

// Fields are the members that define a charge. The ref is not among them, as a
// trace id is not: a coordinator that does not look at the amount must not be
// saved by it.
func Fields() []string { return []string{"amount", "currency"} }

// Fingerprint is the true one, by which the judge tells payloads apart.
func Fingerprint(a Attempt) (idempotency.Fingerprint, error) {
	return idempotency.FingerprintJSON(a.Payload(), Fields()...)
}

// Response is what the client sees.
type Response struct {
	Answer string // history.OK, history.InProgress, …
	Source string // where a coordinator says it came from; "" if it does not say
	Charge string // the charge that the answer names
	Amount int64  // as the answer names it
	Body   string
	Detail string // an error in words
	Status int    // of the HTTP answer; 0 if there was none
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
	// Pause stops a worker before its next call of a port (0), or once that many
	// more of its store calls have been applied; Resume lets it go on.
	Pause(worker string, afterCalls int) error
	Resume(worker string) error
}

func hungUp(ctx context.Context) Response {
	return Response{Answer: history.HungUp, Detail: context.Cause(ctx).Error()}
}
