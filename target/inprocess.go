package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/store"
)

// Worker is one instance of a coordinator in this process. Workers of one
// target share a store, as two processes would.
type Worker struct {
	Name        string
	Coordinator idempotency.Coordinator
	Life        *Life
	// Prepare makes the fingerprint of a payload; nil is the contract's own.
	Prepare func(payload []byte, fields []string) (idempotency.Fingerprint, error)
}

func (w Worker) prepare(a Attempt) (idempotency.Fingerprint, error) {
	if w.Prepare != nil {
		return w.Prepare(a.Payload(), Fields())
	}
	return Fingerprint(a)
}

// InProcess is a coordinator of this process as a target: a small service that
// charges through the provider, inside each worker.
type InProcess struct {
	workers  map[string]Worker
	provider *fakeprovider.Provider
	recorder *history.Recorder
	running  sync.WaitGroup

	mu   sync.Mutex
	busy map[string]int // requests under way, by worker
	rest chan struct{}  // closed when a request has ended; nil while nobody waits
}

// NewInProcess makes a target of workers that charge through p and record their
// actions in rec.
func NewInProcess(p *fakeprovider.Provider, rec *history.Recorder, workers ...Worker) *InProcess {
	t := &InProcess{workers: make(map[string]Worker, len(workers)), provider: p, recorder: rec, busy: map[string]int{}}
	for _, w := range workers {
		t.workers[w.Name] = w
	}
	return t
}

// Kill kills a worker; see Mortal.
func (t *InProcess) Kill(worker string) error {
	return t.worker(worker, func(w Worker) { w.Life.Kill() })
}

// Pause pauses a worker; see Mortal.
func (t *InProcess) Pause(worker string, afterCalls int) error {
	return t.worker(worker, func(w Worker) { w.Life.Pause(afterCalls) })
}

// Resume lets a paused worker go on; see Mortal.
func (t *InProcess) Resume(worker string) error {
	return t.worker(worker, func(w Worker) { w.Life.Resume() })
}

func (t *InProcess) worker(name string, do func(Worker)) error {
	w, ok := t.workers[name]
	if !ok {
		return fmt.Errorf("no worker %q", name)
	}
	do(w)
	return nil
}

// ErrStuck: a coordinator did not return although its client had left and every
// port of its had ended. Its goroutines cannot be stopped; they are left behind.
var ErrStuck = errors.New("the coordinator never returned, and its context had ended")

// closePatience is how long Close waits for coordinators whose ports have all
// ended: nothing is left for them to wait for.
const closePatience = 5 * time.Second

// Close ends every worker and waits until none of their goroutines is left, or
// returns ErrStuck. The provider must have been closed before.
func (t *InProcess) Close() error {
	for _, w := range t.workers {
		w.Life.Bury()
	}
	ended := make(chan struct{})
	go func() {
		t.running.Wait()
		close(ended)
	}()
	patience := time.NewTimer(closePatience)
	defer patience.Stop()
	select {
	case <-ended:
		return nil
	case <-patience.C:
		return ErrStuck
	}
}

// Send runs the attempt on its worker.
func (t *InProcess) Send(ctx context.Context, a Attempt) Response {
	w, ok := t.workers[a.Worker]
	if !ok {
		return Response{Answer: history.Error, Detail: fmt.Sprintf("no worker %q", a.Worker)}
	}
	fp, err := w.prepare(a)
	if err != nil {
		return Response{Answer: history.Error, Detail: err.Error()}
	}
	req := idempotency.Request{Tenant: a.Tenant, Operation: a.Operation, Key: a.Key, Fingerprint: fp}
	answered := make(chan Response, 1)
	t.begun(w.Name)
	t.running.Go(func() {
		defer t.ended(w.Name)
		r := Do(history.WithAttempt(ctx, a.Number), w.Coordinator, req, t.action(w, a))
		if w.Life.gate() == nil {
			answered <- r
		}
	})
	select {
	case <-w.Life.Dead():
		return Response{Answer: history.UnknownOutcome, Detail: "no answer: the worker died"}
	case r := <-answered:
		return r
	case <-ctx.Done():
		return hungUp(ctx)
	}
}

// Do is one request. A panic is an answer like any other, as a server's would be:
// the client gets an error, and the other requests go on.
func Do(ctx context.Context, c idempotency.Coordinator, req idempotency.Request, act idempotency.Action) (r Response) {
	defer func() {
		if p := recover(); p != nil {
			r = Response{Answer: history.Error, Detail: fmt.Sprintf("the coordinator panicked: %v", p)}
		}
	}()
	return Answer(c.Do(ctx, req, act))
}

// receipt is the answer's body.
type receipt struct {
	Charge string `json:"charge"`
	Amount int64  `json:"amount"`
	Ref    string `json:"ref"`
	Pad    string `json:"pad,omitempty"`
}

// action is the service's own code: one charge, one receipt. It tells the
// coordinator what it knows of a failure, and no more.
func (t *InProcess) action(w Worker, a Attempt) idempotency.Action {
	return history.Action(t.recorder, w.Name, a.Ref, func(ctx context.Context) ([]byte, error) {
		return through(w.Life, func() ([]byte, error) {
			call := fakeprovider.Call{Ref: a.Ref, Amount: a.Amount, Key: idempotency.ProviderKey(ctx), Attempt: a.Number}
			c, err := t.provider.Charge(ctx, call)
			if err != nil {
				return nil, Known(err)
			}
			return padded(c.ID, c.Amount, c.Ref, a.Pad), nil
		})
	})
}

// Receipt is the body of a successful answer, as the service here gives it.
func Receipt(charge string, amount int64, ref string) []byte { return padded(charge, amount, ref, 0) }

func padded(charge string, amount int64, ref string, pad int) []byte {
	body, _ := json.Marshal(receipt{charge, amount, ref, strings.Repeat(".", pad)}) // strings and a number always marshal
	return body
}

// Known says what a provider's error lets an honest client know.
func Known(err error) error {
	switch {
	case errors.Is(err, fakeprovider.ErrDeclined), errors.Is(err, fakeprovider.ErrKeyReused):
		return fmt.Errorf("%w: %w", idempotency.ErrNoEffect, err)
	case errors.Is(err, fakeprovider.ErrAnswerLost), errors.Is(err, fakeprovider.ErrKeyInUse),
		errors.Is(err, store.ErrLeaseLost), errors.Is(err, store.ErrRunTooLong),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", idempotency.ErrUnknownOutcome, err)
	default:
		return err
	}
}

// answers maps the contract's sentinels to a client's words, the first match.
func answers() []struct {
	is   error
	word string
} {
	return []struct {
		is   error
		word string
	}{
		{idempotency.ErrInvalidKey, history.InvalidKey},
		{idempotency.ErrKeyReused, history.KeyReused},
		{idempotency.ErrInProgress, history.InProgress},
		{idempotency.ErrOwnerFailed, history.OwnerFailed},
		{idempotency.ErrResultTooLarge, history.ResultTooLarge},
		{idempotency.ErrStoreUnavailable, history.StoreUnavailable},
		{idempotency.ErrUnknownOutcome, history.UnknownOutcome},
		{idempotency.ErrNoEffect, history.Declined},
	}
}

// Answer is an outcome in a client's words.
func Answer(out idempotency.Outcome, err error) Response {
	if err != nil {
		for _, a := range answers() {
			if errors.Is(err, a.is) {
				return Response{Answer: a.word, Detail: err.Error()}
			}
		}
		return Response{Answer: history.Error, Detail: err.Error()}
	}
	r := Response{Answer: history.OK, Source: string(out.Source), Body: string(out.Result)}
	var got receipt
	if err := json.Unmarshal(out.Result, &got); err == nil {
		r.Charge, r.Amount = got.Charge, got.Amount
	} else {
		r.Detail = "the answer is not a receipt"
	}
	return r
}

// ReadReceipt reads the body of a successful answer: whose it is, and the charge
// that it names; ok is false for anything else.
func ReadReceipt(body []byte) (ref, charge string, ok bool) {
	var r receipt
	if json.Unmarshal(body, &r) != nil {
		return "", "", false
	}
	return r.Ref, r.Charge, true
}
