package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"

	"github.com/idemrace/idemrace/cli"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

// README: begin

// lockFirst reserves a key with SET NX before it acts, and refuses duplicates.
type lockFirst struct {
	kv  store.KV
	cfg reservation.Config
}

type record struct {
	State       store.State `json:"state"` // pending or done
	Fingerprint string      `json:"fingerprint"`
	Result      []byte      `json:"result,omitempty"`
}

func (c lockFirst) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if err := req.Validate(); err != nil {
		return idempotency.Outcome{}, err
	}
	name := req.StoredName()
	pending, _ := json.Marshal(record{State: store.Pending, Fingerprint: req.Fingerprint.String()})
	won, err := c.kv.SetNX(ctx, name, pending, c.cfg.Lease)
	if err != nil {
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	if !won {
		return c.duplicate(ctx, req)
	}
	result, err := act(idempotency.WithProviderKey(ctx, req.ProviderKey(1)))
	if err != nil {
		_ = c.kv.Delete(ctx, name) // an error is not cached: a retry may run
		return idempotency.Outcome{}, err
	}
	done, _ := json.Marshal(record{State: store.Done, Fingerprint: req.Fingerprint.String(), Result: result})
	err = c.kv.Set(ctx, name, done, c.cfg.Retention)
	return idempotency.Outcome{Result: result, Source: idempotency.Executed, Stored: err == nil}, nil
}

func (c lockFirst) duplicate(ctx context.Context, req idempotency.Request) (idempotency.Outcome, error) {
	value, found, err := c.kv.Get(ctx, req.StoredName())
	if err != nil {
		return idempotency.Outcome{}, &idempotency.StoreUnavailableError{Err: err}
	}
	var r record
	if !found || json.Unmarshal(value, &r) != nil {
		return idempotency.Outcome{}, &idempotency.InProgressError{}
	}
	if same, err := req.Fingerprint.Matches(r.Fingerprint); err != nil || !same {
		return idempotency.Outcome{}, &idempotency.KeyReusedError{Stored: r.Fingerprint, Got: req.Fingerprint.String()}
	}
	if r.State == store.Pending {
		return idempotency.Outcome{}, &idempotency.InProgressError{}
	}
	return idempotency.Outcome{Result: r.Result, Source: idempotency.Replayed, Stored: true}, nil
}

// mine is how idemrace gets to know it. An entry that says nothing of what it Lacks
// must keep every invariant.
func mine() impl.Entry {
	return impl.Entry{
		Name:   "lock-first",
		Doc:    "SET NX, then act",
		Policy: reservation.FailClosed, // without a store it refuses
		New:    func(e impl.Env) (idempotency.Coordinator, error) { return lockFirst{e.KV, e.Config}, nil },
	}
}

func ExampleRun() {
	run := func(args ...string) int {
		return cli.Run(context.Background(), cli.Config{Args: args, Extra: []impl.Entry{mine()}})
	}
	fmt.Println(run("run", "--impl", "lock-first", "--scenario", "in-flight,burst,key-reuse", "--gate", "--store", "embedded"))
	// It has no owner token: an owner that fails late deletes the next one's claim.
	fmt.Println(run("run", "--impl", "lock-first", "--scenario", "late-failure", "--gate", "--store", "embedded"))
	// Output:
	// 0
	// 1
}

// README: end

var _ = main // only compiled: the README shows it

// README: main begin

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := cli.Run(ctx, cli.Config{Name: "./race", Args: os.Args[1:], Environ: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Extra: []impl.Entry{mine()}})
	stop()
	os.Exit(code)
}

// README: main end
