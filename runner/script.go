package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/faultproxy"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/target"
)

// scene is where one cell is played: a stage, and how it is left.
type scene interface {
	scenarios.Stage
	base() *script
	// close ends everything that the cell has started.
	close(ctx context.Context) error
}

// script is what playing has in common, whatever the target: attempts are sent,
// what happens is recorded, the provider and the way to the store are disturbed.
type script struct {
	steps    []scenarios.Step
	entry    impl.Entry
	config   reservation.Config // what the judge is told of the target
	rec      *history.Recorder
	provider *fakeprovider.Provider
	target   target.Target
	hide     func(string) string // takes secrets out of a text
	proxy    *faultproxy.Proxy   // nil if the store has no connection to cut
	sentinel *sentinel           // nil where nobody else can reach the store
	calm     calm                // of a target whose waiting nobody sees
	counted  func() int          // store commands, where the proxy is not this cell's alone; nil: it is

	disturbances []disturbed // that act now

	clients  context.Context // every attempt's
	leave    context.CancelFunc
	sent     map[string]sent // by client
	attempts int
	open     sync.WaitGroup
}

func newScript(ctx context.Context, p pair) *script {
	sc := &script{steps: p.scenario.Steps, entry: p.entry, sent: map[string]sent{}}
	sc.clients, sc.leave = context.WithCancel(ctx)
	return sc
}

func (sc *script) base() *script { return sc }

// together are targets whose attempts can leave together.
type together interface {
	SendTogether(ctx []context.Context, attempts []target.Attempt, answered func(i int, r target.Response))
}

func (sc *script) Send(attempts ...target.Attempt) error {
	clients := make([]context.Context, len(attempts))
	for i := range attempts {
		client, err := sc.begin(&attempts[i])
		if err != nil {
			return err
		}
		clients[i] = client
	}
	if t, ok := sc.target.(together); ok && len(attempts) > 1 {
		sc.open.Go(func() {
			t.SendTogether(clients, attempts, func(i int, r target.Response) { sc.answer(attempts[i], r) })
		})
		return nil
	}
	for i, a := range attempts {
		sc.open.Go(func() { sc.answer(a, sc.target.Send(clients[i], a)) })
	}
	return nil
}

// begin numbers and records an attempt, and returns its client's patience.
func (sc *script) begin(a *target.Attempt) (context.Context, error) {
	sc.attempts++
	a.Number = sc.attempts
	fp, err := target.Fingerprint(*a)
	if err != nil {
		return nil, err
	}
	sc.rec.Record(history.Event{Kind: history.Send, Attempt: a.Number, Client: a.Client, Worker: a.Worker,
		Tenant: a.Tenant, Operation: a.Operation, Key: a.Key, Ref: a.Ref, Amount: a.Amount, Fingerprint: fp.String()})
	client, hangUp := context.WithCancelCause(sc.clients)
	sc.sent[a.Client] = sent{*a, hangUp}
	return client, nil
}

func (sc *script) answer(a target.Attempt, r target.Response) {
	sc.rec.Record(history.Event{Kind: history.Answer, Attempt: a.Number, Client: a.Client, Worker: a.Worker,
		Tenant: a.Tenant, Operation: a.Operation, Key: a.Key, Ref: a.Ref,
		Answer: r.Answer, Source: r.Source, Charge: sc.hide(r.Charge), Amount: r.Amount, Body: sc.hide(r.Body), Err: sc.hide(r.Detail), Status: r.Status})
}

func (sc *script) Await(ctx context.Context, cond func([]history.Event) bool) error {
	if sc.calm.quiet > 0 {
		return sc.awaitUnseen(ctx, cond)
	}
	return sc.rec.Await(ctx, cond)
}

func (sc *script) Join(ctx context.Context) error {
	sent := sc.attempts
	return sc.rec.Await(ctx, func(events []history.Event) bool {
		answers := 0
		for _, e := range events {
			if e.Kind == history.Answer {
				answers++
			}
		}
		return answers >= sent
	})
}

func (sc *script) Pass(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (sc *script) Provider() *fakeprovider.Provider { return sc.provider }

func (sc *script) Fault(op, worker string, n int, ttl time.Duration) {
	sc.rec.Record(history.Event{Kind: history.Fault, Op: op, Worker: worker, N: n, TTLMS: ttl.Milliseconds()})
}

func (sc *script) StoreDown() error {
	if sc.proxy == nil {
		return fmt.Errorf("%w: cut this store", scenarios.ErrUnable)
	}
	sc.proxy.Down()
	return nil
}

func (sc *script) StoreUp() error {
	if sc.proxy == nil {
		return fmt.Errorf("%w: mend this store", scenarios.ErrUnable)
	}
	return sc.proxy.Up()
}

// errHungUp is why a client's context ends.
var errHungUp = errors.New("the client hung up")

// sent is a client's last attempt, and how to end its patience.
type sent struct {
	attempt target.Attempt
	hangUp  context.CancelCauseFunc
}

func (sc *script) HangUp(client string) error {
	s, ok := sc.sent[client]
	if !ok {
		return fmt.Errorf("client %s has sent nothing", client)
	}
	if sc.answered(client) {
		return nil // too late to leave
	}
	sc.rec.Record(history.Event{Kind: history.HangUp, Attempt: s.attempt.Number, Client: client, Key: s.attempt.Key, Ref: s.attempt.Ref})
	s.hangUp(errHungUp)
	return nil
}

func (sc *script) answered(client string) bool {
	for _, e := range sc.rec.History().Events {
		if e.Kind == history.Answer && e.Client == client {
			return true
		}
	}
	return false
}

// play plays every step, or says where it stood when time was up.
func (sc *script) play(ctx context.Context, on scenarios.Stage, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, step := range sc.steps {
		err := step.Play(ctx, on)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
			return &lateError{step: step.String(), timeout: timeout}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

// commands counts what clients sent: at the proxy, or where there is none, the
// calls of the ports.
func (sc *script) commands(h *history.History) int {
	if sc.counted != nil {
		return sc.counted()
	}
	if sc.proxy != nil {
		return sc.proxy.Commands()
	}
	n := 0
	for _, e := range h.Events {
		if e.Kind == history.StoreCall && e.Op != history.OpAwait && e.Op != history.OpKeep { // neither sends one
			n++
		}
	}
	return n
}
