package storetest_test

import (
	"testing"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/store/memstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// A test of your own store; here it is one of idemrace's. A store that talks to a
// server opens it in the constructor, with names of its own, and closes it with the
// Cleanup of its testing.TB; its Twin is a second connection.
func ExampleTestStore() {
	laws := func(t *testing.T) {
		storetest.TestStore(t, func(testing.TB) storetest.Subject {
			s := memstore.New(clock.Real{})
			var subject storetest.Subject
			subject = storetest.Subject{Store: s, KV: s, Inspector: s, Controller: s, Twin: func() storetest.Subject { return subject }}
			return subject
		})
	}
	_ = laws
	// Output:
}
