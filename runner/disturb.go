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

func (st *stage) Disturb(op string, d scenarios.Disturbance) error {
	if st.proxy == nil {
		return fmt.Errorf("%w: disturb this store", scenarios.ErrUnable)
	}
	st.Fault(op, "", 0, 0)
	st.disturbances = append(st.disturbances, disturbed{op, d, st.proxy.Disturb(d)})
	return nil
}

// AwaitDisturbed asks every millisecond: a fault fires in the proxy, which tells
// nobody.
func (st *stage) AwaitDisturbed(ctx context.Context) error {
	for !st.fired() {
		if err := st.Pass(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (st *stage) fired() bool {
	for _, d := range st.disturbances {
		if d.fault.Fired() > 0 {
			return true
		}
	}
	return len(st.disturbances) == 0
}

func (st *stage) Heal() error {
	for _, d := range st.disturbances {
		d.end()
		st.Fault(d.op, "", d.fault.Fired(), 0)
	}
	st.disturbances = nil
	return nil
}
