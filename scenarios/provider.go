package scenarios

import (
	"context"
	"fmt"

	"github.com/idemrace/idemrace/fakeprovider"
)

// Release is the step "the provider goes on": one held call by number, or all.
type Release struct {
	Call   int  // this one (1 is the first that arrived)
	IfMade bool // nothing to do if that call is not held: a careful target does not make it
	All    bool // all that are held, and nothing is held any more
}

// String is e.g. "the provider lets call 2 go on".
func (r Release) String() string {
	if r.All {
		return "the provider lets every call go on"
	}
	if r.IfMade {
		return fmt.Sprintf("the provider lets call %d go on, if it was made", r.Call)
	}
	return fmt.Sprintf("the provider lets call %d go on", r.Call)
}

// Needs nothing: the provider is ours.
func (r Release) Needs() []Ability { return nil }

// Play releases. That a call is held already is not needed: what has not
// arrived yet passes when all are released.
func (r Release) Play(_ context.Context, st Stage) error {
	p := st.Provider()
	if !r.All {
		if !p.ReleaseCall(r.Call) {
			if r.IfMade {
				return nil
			}
			return fmt.Errorf("call %d is not held", r.Call)
		}
		st.Fault("provider-release", "", 1, 0)
		return nil
	}
	p.SetDefault(fakeprovider.Behaviour{})
	st.Fault("provider-release", "", p.Release(0), 0)
	return nil
}
