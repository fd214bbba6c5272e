// Package storetest examines any store: the laws that package store states, one
// subtest each, named for its law. A store that passes may stand under a
// coordinator; memstore and redisstore do.
//
// The laws wait for no clock where a command can do: leases and retentions end
// through store.Controller. The package refuses to look inside a store, and to
// assert how long anything takes.
//
// [StartRedis] and [StartCluster] lend private servers to tests.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/idemrace/idemrace/store"
)

// Subject is what is examined: the four ports over one set of records, and a
// second worker on the same records.
type Subject struct {
	Store      store.Store
	KV         store.KV
	Inspector  store.Inspector
	Controller store.Controller
	// Twin returns another worker's view of the same records. A store that is
	// shared in one process may return itself.
	Twin func() Subject
}

// law is one thing that every store must obey. Says is printed when it is broken.
type law struct {
	name string
	says string
	hold func(l lab)
}

// TestStore holds a store against every law. new returns a subject with records
// of its own, on what may be one server, and cleans up after t.
func TestStore(t *testing.T, new func(t testing.TB) Subject) {
	t.Helper()
	for _, chapter := range []struct {
		name string
		laws []law
	}{
		{"claim", claimLaws},
		{"settle", settleLaws},
		{"wait", waitLaws},
		{"keep", keepLaws},
		{"retain", retainLaws},
		{"plain", plainLaws},
		{"control", controlLaws},
	} {
		t.Run(chapter.name, func(t *testing.T) {
			for _, law := range chapter.laws {
				t.Run(law.name, func(t *testing.T) { examine(t, law, new) })
			}
		})
	}
}

func examine(t *testing.T, law law, new func(testing.TB) Subject) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer func() {
		if t.Failed() {
			t.Logf("the law: %s", law.says)
		}
	}()
	law.hold(lab{T: t, Subject: new(t), ctx: ctx, another: func() Subject { return new(t) }})
}

// patience is when a law is given up that waits for something which never
// comes. No law asserts that anything takes less.
const patience = 30 * time.Second

// What the laws use where the value does not matter. The lease never ends by
// itself while a law is examined.
const (
	lease     = time.Hour
	retention = 24 * time.Hour
	payload   = "v1:a" // a fingerprint
	older     = "v0:a" // the same payload's under an older version
	other     = "v1:b" // another payload's
)
