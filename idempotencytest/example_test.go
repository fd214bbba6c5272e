package idempotencytest_test

import (
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotencytest"
	"github.com/idemrace/idemrace/impl/reservation"
)

// myCoordinator stands for yours; here it is one of idemrace's own.
func myCoordinator(env idempotencytest.Env) (idempotency.Coordinator, error) {
	return reservation.New(env.Store, env.Clock, reservation.DuplicatesRaise, env.Config)
}

// A test of your own coordinator: what it is made from, and what it is known not to
// keep. In your project it is called TestMine, and examples/coordinator is a whole
// project with it, on a Redis client of its own.
func ExampleTestCoordinator() {
	mine := func(t *testing.T) {
		idempotencytest.TestCoordinator(t,
			func(t testing.TB, env idempotencytest.Env) idempotency.Coordinator {
				c, err := myCoordinator(env) // or a client of yours, made from env.RedisURL
				if err != nil {
					t.Fatal(err)
				}
				return c
			},
			idempotencytest.Options{
				StoreDown: reservation.FailClosed,
				Lacks: []check.Lack{
					// A dead worker has charged, and only the provider knows.
					{Invariant: "effect/at-most-once", Stress: check.OwnerDies, Unless: check.NeedsProviderKey},
				},
			})
	}
	_ = mine
	// Output:
}
