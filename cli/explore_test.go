package cli_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/idemrace/idemrace/cli"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/store"
)

// dozer is a coordinator of a user's own that sleeps where nobody can see it.
type dozer struct{ kv store.KV }

func (d dozer) Do(ctx context.Context, req idempotency.Request, act idempotency.Action) (idempotency.Outcome, error) {
	if _, _, err := d.kv.Get(ctx, req.StoredName()); err != nil {
		return idempotency.Outcome{}, err
	}
	time.Sleep(50 * time.Millisecond)
	result, err := act(ctx)
	return idempotency.Outcome{Result: result, Source: idempotency.Executed}, err
}

func dozing() []impl.Entry {
	return []impl.Entry{{Name: "dozer", New: func(e impl.Env) (idempotency.Coordinator, error) { return dozer{e.KV}, nil }}}
}

// A coordinator that blocks outside its ports is refused by name, exit 4, also when
// it is not ours.
func TestExploreRefusesWhatItCannotControl(t *testing.T) {
	code, _, said := call(context.Background(), cli.Config{Extra: dozing()}, "explore", "--impl", "dozer")
	if code != cli.ExitCouldNotRun || !strings.Contains(said, "dozer") || !strings.Contains(said, "time.Sleep") || !strings.Contains(said, "explore_test.go") {
		t.Errorf("exit %d: %s", code, said)
	}
}
