package explore

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/plain"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store/memstore"
)

// hunts are the bounds that are tried on each member of the zoo, the smallest first.
func hunts() []Config {
	return []Config{
		{Clients: 2, Preemptions: 0}, {Clients: 2, Preemptions: 1}, {Clients: 2, Preemptions: 2},
		{Clients: 2, Preemptions: 0, Faults: 1}, {Clients: 2, Preemptions: 0, Crashes: 1}, {Clients: 2, Preemptions: 0, Expiries: 1},
		{Clients: 2, Preemptions: 0, Payloads: true}, {Clients: 2, Preemptions: 0, HangUps: 1},
		{Clients: 2, Preemptions: 0, Faults: 2}, {Clients: 2, Preemptions: 0, Faults: 3},
		{Clients: 2, Preemptions: 1, Faults: 1}, {Clients: 2, Preemptions: 1, Crashes: 1}, {Clients: 2, Preemptions: 1, Expiries: 1},
		{Clients: 2, Preemptions: 1, Payloads: true}, {Clients: 2, Preemptions: 2, Expiries: 1},
		{Clients: 2, Preemptions: 1, Crashes: 1, Expiries: 1}, {Clients: 2, Preemptions: 1, Faults: 1, Expiries: 1},
		{Clients: 3, Preemptions: 1, Expiries: 1}, {Clients: 3, Preemptions: 1, Faults: 1},
		{Clients: 3, Preemptions: 1, Faults: 1, Expiries: 1}, {Clients: 3, Preemptions: 1, Crashes: 1, Expiries: 1},
	}
}

// unseenBy says of each member that is not caught why that is so.
func unseenBy() map[string]string {
	names := "its fault is in names and keys; here all send one key of one operation"
	payload := "its fault is in how payloads are written; here each is written in one way"
	return map[string]string{
		"hashes-everything": payload, "hashes-raw-bytes": payload,
		"unscoped": names, "joins-names": names, "long-keys-run-free": names, "truncates-keys": names,
		"oversize-runs-again": "its fault shows with results over the limit; here they are small",
	}
}

// caught is the first bounds under which a member violates what no sound coordinator
// violates there.
func caught(t *testing.T, e impl.Entry, spared func(Config) []string) (Config, Violation, Result, bool) {
	t.Helper()
	for _, c := range hunts() {
		c.Entry, c.MaxRuns = e, 100_000
		r, err := Explore(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range r.Found {
			if !slices.Contains(spared(c), v.Invariant) {
				return c, v, r, true
			}
		}
	}
	return Config{}, Violation{}, Result{}, false
}

// sparing lists what the sound coordinators violate under the same bounds: wait and
// raise, and for a member made of plain commands its core, with nothing spoilt.
func sparing(t *testing.T) func(Config) []string {
	known := map[string][]string{}
	return func(c Config) []string {
		sound := []impl.Entry{entry(t, "wait"), entry(t, "raise")}
		if onPlainCommands(c.Entry) {
			sound = append(sound, plainCore(c.Entry))
		}
		key := fmt.Sprint(len(sound), c.Entry.Policy, c.Clients, c.Payloads, c.Faults, c.Crashes, c.Expiries, c.HangUps, c.Preemptions)
		if ids, met := known[key]; met {
			return ids
		}
		ids := []string{}
		for _, c.Entry = range sound {
			r, err := Explore(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range r.Found {
				ids = append(ids, v.Invariant)
			}
		}
		known[key] = ids
		return ids
	}
}

// onPlainCommands: it can be made without a Store, and not without a KV.
func onPlainCommands(e impl.Entry) bool {
	mem := memstore.New(clock.Real{})
	_, without := e.New(impl.Env{KV: mem, Clock: clock.Real{}})
	_, with := e.New(impl.Env{Store: mem, Clock: clock.Real{}})
	return without == nil && with != nil
}

// plainCore is impl/plain with nothing replaced, declared as the member is.
func plainCore(e impl.Entry) impl.Entry {
	return impl.Entry{Name: "plain", Policy: e.Policy, New: func(env impl.Env) (idempotency.Coordinator, error) {
		c, err := env.Config.WithDefaults()
		if err != nil {
			return nil, err
		}
		return plain.New(env.KV, env.Clock, plain.Config{Lease: c.Lease, Retention: c.Retention, CompleteFor: c.CompleteFor, MaxResult: c.MaxResult,
			FailClosed: e.Policy == reservation.FailClosed, OnOrphan: c.OnOrphan, NewToken: c.NewToken}, plain.Parts{})
	}}
}

// Every member of the zoo whose fault lies in its steps is caught with at most three
// clients. docs/explore.md says with which bounds; -update writes it.
func TestTheZooIsCaught(t *testing.T) {
	members, _ := impl.Group(impl.Zoo)
	spared := sparing(t)
	var rows, blind strings.Builder
	for _, e := range members {
		if e.Unseen {
			fmt.Fprintf(&blind, "- `%s`: it stands on a client of its own, whose steps nobody sees.\n", e.Name)
			continue
		}
		c, v, r, ok := caught(t, e, spared)
		why := unseenBy()[e.Name]
		if ok != (why == "") {
			t.Errorf("%s: caught %v (%s), but the list says %q", e.Name, ok, v.Invariant, why)
		}
		if !ok {
			fmt.Fprintf(&blind, "- `%s`: %s.\n", e.Name, why)
			continue
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %d | %d |\n", e.Name, bounds(c), v.Invariant, r.Runs, len(v.Schedule.Steps))
	}
	golden(t, "../docs/explore.md", tableStart, tableHead, tableEnd, rows.String()+"\nNot seen by `explore`:\n\n"+blind.String(), true)
}

// update is asked for with -update.
var update = flag.Bool("update", false, "write docs/explore.md anew")

const (
	tableStart = "<!-- made by go test ./explore -run Zoo -update -->\n"
	tableHead  = "| Member | Bounds | Invariant | Schedules | Steps |\n| --- | --- | --- | ---: | ---: |\n"
	tableEnd   = "<!-- end -->\n"
)

func bounds(c Config) string {
	text := fmt.Sprintf("%d clients, %s", c.Clients, count(c.Preemptions, "preemption", "preemptions"))
	for _, b := range []struct {
		n         int
		one, many string
	}{{c.Faults, "fault", "faults"}, {c.Crashes, "crash", "crashes"}, {c.Expiries, "expiry", "expiries"}, {c.HangUps, "hang-up", "hang-ups"}} {
		if b.n > 0 {
			text += ", " + count(b.n, b.one, b.many)
		}
	}
	if c.Payloads {
		text += ", two payloads"
	}
	return text
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// golden compares the part of a file between two lines, or writes it. Unless want is
// whole, the file may have more.
func golden(t *testing.T, path, start, head, end, want string, whole bool) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), start)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", path)
	}
	if got == head+want || !whole && strings.HasPrefix(got, head+want) {
		return
	}
	if *update && whole {
		if err := os.WriteFile(path, []byte(before+start+head+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not what explore finds; write it with -update.\n got %s\nwant %s", path, got, head+want)
}
