// Package impl is the catalogue of coordinators: for each one its name, what it
// does in one line, what it is known to lack, and how it is made.
//
// Adding a coordinator is one folder and one line here. What an entry lacks is
// part of its description, not an excuse: a run fails when a lacking coordinator
// shows no violation where it surely must, as when a sound one shows any.
package impl

import (
	"context"
	"slices"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/cache"
	"github.com/idemrace/idemrace/impl/fenced"
	"github.com/idemrace/idemrace/impl/raise"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/impl/wait"
	"github.com/idemrace/idemrace/store"
)

// Env is what a coordinator is made from. A constructor takes what it needs:
// Store or KV, never both; they may be one thing.
type Env struct {
	Store  store.Store
	KV     store.KV
	Clock  clock.Clock
	Config reservation.Config
	// HonoursKeys: the provider answers a second call with one key by the outcome
	// of the first. False is the safe side.
	HonoursKeys bool

	// RedisURL and Prefix are for coordinators that bring a client of their own: a
	// Redis that may be disturbed, "" where there is none, and what every name there
	// must begin with.
	RedisURL, Prefix string
	// Cleanup registers what must end with the worker that the coordinator is made
	// for: a client of its own. It is never nil in a run.
	Cleanup func(end func())
}

// Entry is one coordinator of the catalogue.
type Entry struct {
	Name   string
	Also   []string           // other names by which it is found: what the field calls its fault
	Doc    string             // one line: what it does, not how good it is
	Groups []string           // besides All, in which every entry is
	Policy reservation.Policy // its own choice for a store that is down
	// Lacks are the invariants that it does not keep, each under the stress that
	// shows it, unless the need is met. What is not listed must hold.
	Lacks []check.Lack
	New   func(Env) (idempotency.Coordinator, error)
	// Prepare makes the fingerprint of a payload from the fields that define it;
	// nil is the contract's own, idempotency.FingerprintJSON.
	Prepare func(payload []byte, fields []string) (idempotency.Fingerprint, error)
	// Unseen: it stands on a client of its own and not on Store or KV, so that its
	// store calls are seen by nobody: neither recorded nor counted.
	Unseen bool
	// EndLeases ends the leases of records that only the coordinator itself can
	// read, and says of how many. Env is a way past every fault. Nil: the store's own
	// command, see store.Controller.
	EndLeases func(context.Context, Env) (int, error)
}

// Called reports whether the entry goes by that name.
func (e Entry) Called(name string) bool { return e.Name == name || slices.Contains(e.Also, name) }

// The groups.
const (
	Article  = "article" // the experiment's three; what runs when nothing is named
	Zoo      = "zoo"     // broken coordinators, one fault each
	Everyone = "all"
)

// Groups returns the names of all groups, also of those that are empty.
func Groups() []string { return []string{Article, Zoo, Everyone} }

// All returns the catalogue, in the order in which reports show it.
func All() []Entry { return slices.Concat(lesson(), plainZoo(), storeZoo()) }

// lesson is the coordinators that are taught: the one that people write first, and
// those to write instead.
func lesson() []Entry {
	return []Entry{
		{
			Name: "cache", Also: []string{"check-then-act"},
			Doc:    "look up the key, else run and store: same answer, but not one effect",
			Groups: []string{Article, Zoo}, Policy: reservation.FailOpen, Lacks: cacheLacks(),
			New: func(e Env) (idempotency.Coordinator, error) { return cache.New(e.KV, e.Config) },
		},
		{
			Name: "wait", Doc: "reserve the key first; a duplicate waits for the first one's result",
			Groups: []string{Article}, Policy: reservation.FailOpen, Lacks: reservationLacks(),
			New: func(e Env) (idempotency.Coordinator, error) { return wait.New(e.Store, e.Clock, e.Config) },
		},
		{
			Name: "raise", Doc: "reserve the key first; a duplicate is refused at once (HTTP 409)",
			Groups: []string{Article}, Policy: reservation.FailOpen, Lacks: reservationLacks(),
			New: func(e Env) (idempotency.Coordinator, error) { return raise.New(e.Store, e.Clock, e.Config) },
		},
		{
			Name: "fenced", Doc: "wait, with the lease renewed, unknown outcomes kept, and the provider asked with the same key",
			Policy: reservation.FailClosed, Lacks: fencedLacks(),
			New: func(e Env) (idempotency.Coordinator, error) {
				return fenced.New(e.Store, e.Clock, fenced.Config{Config: e.Config, ProviderHonoursKeys: e.HonoursKeys})
			},
		},
	}
}

// Lookup finds an entry by any of its names.
func Lookup(name string) (Entry, bool) {
	all := All()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Called(name) })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}

// Group returns the entries of a group, and whether there is such a group: a
// known one may be empty.
func Group(name string) (entries []Entry, known bool) {
	for _, e := range All() {
		if name == Everyone || slices.Contains(e.Groups, name) {
			entries = append(entries, e)
		}
	}
	return entries, slices.Contains(Groups(), name)
}
