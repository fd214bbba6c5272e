package scenarios

import (
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// A lease that ends by the clock. Whoever takes over has three quarters of it for
// its action: a machine that stalls for longer would change the verdict. Whole
// seconds, since some stores know no finer expiry.
const (
	realLease = 2 * time.Second
	pastLease = 2600 * time.Millisecond
	// barelyPast is for what has to be met while an ended claim still stands, as some
	// stores keep it for a second more: 900 ms are left for a machine that stalls.
	barelyPast = realLease + 100*time.Millisecond
)

// pause: the owner's process is stopped past its lease, with the charge made.
func pause() Scenario {
	return Scenario{
		Name:  "pause",
		Title: "the owner freezes past its lease with the charge made, a second worker enters, the owner goes on",
		Why: "A long garbage collection or a frozen machine: the owner does not know that its lease has ended, and writes. " +
			"Whatever it writes must bounce off the new owner's fence.",
		Setting: Setting{Workers: []string{"w1", "w2"}, Script: []fakeprovider.Behaviour{{HoldAfter: true}}, Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A", Worker: "w1"}, WaitFor{Charges: 1},
			Pause{Worker: "w1"}, Release{Call: 1}, WaitFor{Paused: "w1"},
			EndLeases{}, Send{Client: "B", Worker: "w2"}, WaitFor{Placed: true},
			Resume{Worker: "w1"}, WaitFor{Answered: "A"},
			Release{All: true}, Join{}, Settle{},
		},
		Exposes: join(surely("effect/at-most-once"), possibly("effect/silent-duplicate", "effect/accounted", "effect/no-overlap",
			"claim/fenced", "answer/replay-equal", "answer/in-progress-true", "answer/loser", "record/final-is-final", "answer/one-fresh")),
		Stresses:    []check.Stress{check.LeaseOverrun, check.TwoWorkers},
		Controls:    []history.Control{{Name: "fault:worker-paused", Min: 1}, {Name: "charge", Min: 1}},
		AtLeastOnce: true,
	}
}

// staleTakeover: a claim is looked at, and acted upon when it is no longer true.
func staleTakeover() Scenario {
	return Scenario{
		Name:  "stale-takeover",
		Title: "a second worker freezes just after it has looked at an expired claim; the owner completes; it goes on",
		Why: "Between looking and taking over, the world moves on: the claim that was seen as expired is a final result by now. " +
			"To take it over all the same replaces a result by a second charge.",
		Setting: Setting{Workers: []string{"w1", "w2"}, Lease: realLease, RealTime: true, Takes: barelyPast,
			Script: []fakeprovider.Behaviour{{HoldAfter: true}}},
		Steps: []Step{
			Send{Client: "A", Worker: "w1"}, WaitFor{Charges: 1}, Pause{Worker: "w1"}, Release{All: true}, WaitFor{Paused: "w1"},
			Pass{For: barelyPast},
			Pause{Worker: "w2", AfterCalls: 1}, Send{Client: "B", Worker: "w2"}, WaitFor{Paused: "w2"},
			Resume{Worker: "w1"}, WaitFor{Answered: "A"},
			Resume{Worker: "w2"}, Join{}, Settle{},
		},
		Exposes: join(surely("effect/at-most-once"), possibly("record/final-is-final", "effect/silent-duplicate", "effect/accounted", "effect/no-overlap",
			"claim/fenced", "answer/replay-equal", "answer/in-progress-true", "answer/loser", "answer/one-fresh")),
		Stresses:    []check.Stress{check.LeaseOverrun, check.TwoWorkers},
		Controls:    []history.Control{{Name: "fault:worker-paused", Min: 2}, {Name: "charge", Min: 1}},
		AtLeastOnce: true,
	}
}

// leaseReal: a lease that ends by the clock, for once.
func leaseReal() Scenario {
	return Scenario{
		Name:  "lease-real",
		Title: "the worker dies before it charges; retry after the lease (2 s, real time)",
		Why: "The lease is the only thing that gives a dead worker's key back. Milliseconds sent as seconds, a claim that is kept as long " +
			"as a result, an expiry that was never set: the order can never be paid again.",
		Setting: Setting{Workers: []string{"w1", "w2"}, Lease: realLease, RealTime: true, Takes: pastLease,
			WaitLimit: 5 * time.Second, Script: []fakeprovider.Behaviour{{Hold: true, Fail: fakeprovider.Decline}}},
		Steps: []Step{
			Send{Client: "A", Worker: "w1"}, WaitFor{Calls: 1}, Inspect{},
			Kill{Worker: "w1"}, Release{All: true},
			Pass{For: pastLease},
			Send{Client: "B", Worker: "w2"}, Join{}, Settle{},
		},
		Exposes:  join(surely("claim/recovers", "claim/mortal"), possibly("answer/in-progress-true")),
		Stresses: []check.Stress{check.OwnerDies},
		Controls: []history.Control{{Name: "fault:worker-kill", Min: 1}, {Name: "provider-call", Min: 1}},
	}
}

// deathBetweenCommands: a claim that takes more than one command.
func deathBetweenCommands() Scenario {
	return Scenario{
		Name:  "death-between-commands",
		Title: "the worker dies right after its first store command; retry after the lease (2 s, real time)",
		Why: "A process can die between any two commands. If the first one sets the claim and the second one its expiry, what is left is a claim " +
			"without an end, and the order can never be paid.",
		Setting: Setting{Workers: []string{"w1", "w2"}, Lease: realLease, RealTime: true, Takes: pastLease,
			WaitLimit: 5 * time.Second},
		Steps: []Step{
			Pause{Worker: "w1", AfterCalls: 1}, Send{Client: "A", Worker: "w1"}, WaitFor{Paused: "w1"}, Kill{Worker: "w1"},
			Pass{For: pastLease},
			Send{Client: "B", Worker: "w2"}, Join{}, Settle{},
		},
		Exposes:  join(surely("claim/recovers", "claim/mortal"), possibly("answer/in-progress-true")),
		Stresses: []check.Stress{check.OwnerDies, check.ClaimTorn},
		Controls: []history.Control{{Name: "fault:worker-paused", Min: 1}, {Name: "fault:worker-kill", Min: 1}},
	}
}

// renewals: the overtaken owner's heartbeat.
func renewals() Scenario {
	return Scenario{
		Name:  "renewals",
		Title: "the owner freezes past its lease (3 s, real time), a second worker takes over and runs, the first goes on and renews",
		Why: "A heartbeat keeps a lease up while the action runs. One that does not ask whose lease it is keeps up the new owner's: " +
			"if that one dies, nobody can take over, and the old owner never learns that it is none.",
		Setting: Setting{Workers: []string{"w1", "w2"}, Lease: 3 * time.Second, RealTime: true, Takes: 4700 * time.Millisecond,
			Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A", Worker: "w1"}, WaitFor{Calls: 1},
			Pause{Worker: "w1"}, Pass{For: 3400 * time.Millisecond},
			Send{Client: "B", Worker: "w2"}, WaitFor{Placed: true},
			// A heartbeat comes after a third of a lease; the action has three quarters.
			Resume{Worker: "w1"}, Pass{For: 1300 * time.Millisecond},
			Release{Call: 2, IfMade: true}, WaitFor{Answered: "B"},
			Release{All: true}, Join{}, Settle{},
		},
		Exposes: join(surely("effect/at-most-once"), possibly("effect/silent-duplicate", "effect/accounted", "effect/no-overlap",
			"claim/fenced", "claim/mortal", "answer/replay-equal", "answer/in-progress-true", "answer/loser", "record/final-is-final", "answer/one-fresh")),
		Stresses:    []check.Stress{check.LeaseOverrun, check.TwoWorkers, check.Renewed},
		Controls:    []history.Control{{Name: "fault:worker-resume", Min: 1}, {Name: "provider-call", Min: 1}},
		AtLeastOnce: true,
	}
}
