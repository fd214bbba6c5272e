package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/scenarios"
)

// disturbed is a store fault that acts.
type disturbed struct {
	op    string
	fault scenarios.Disturbance
	end   func()
}

func (sc *script) Disturb(op string, d scenarios.Disturbance) error {
	if sc.proxy == nil {
		return fmt.Errorf("%w: disturb this store", scenarios.ErrUnable)
	}
	sc.Fault(op, "", 0, 0)
	sc.disturbances = append(sc.disturbances, disturbed{op, d, sc.proxy.Disturb(d)})
	return nil
}

// AwaitDisturbed asks every millisecond: a fault fires in the proxy, which tells
// nobody.
func (sc *script) AwaitDisturbed(ctx context.Context) error {
	for !sc.fired() {
		if err := sc.Pass(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (sc *script) fired() bool {
	for _, d := range sc.disturbances {
		if d.fault.Fired() > 0 {
			return true
		}
	}
	return len(sc.disturbances) == 0
}

func (sc *script) Heal() error {
	for _, d := range sc.disturbances {
		d.end()
		sc.Fault(d.op, "", d.fault.Fired(), 0)
	}
	sc.disturbances = nil
	return nil
}
