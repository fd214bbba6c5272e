package memstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/store/memstore"
	"github.com/idemrace/idemrace/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLaws(t *testing.T) {
	storetest.TestStore(t, func(testing.TB) storetest.Subject {
		s := memstore.New(clock.Real{})
		var subject storetest.Subject
		subject = storetest.Subject{Store: s, KV: s, Inspector: s, Controller: s, Twin: func() storetest.Subject { return subject }}
		return subject
	})
}
