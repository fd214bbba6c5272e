// Package scenarios is the named races, as data: what is sent, what is held,
// killed, cut and ended, in which order. One file holds one scenario, one file
// one kind of step; the catalogue is [All].
//
// A scenario says what it exposes, its stresses and its positive controls, so
// that what to expect of a coordinator is computed and not written down twice.
// The package refuses to know targets: a [Step] is played on a [Stage], and
// whoever has a stage can play every scenario.
package scenarios

import (
	"slices"
	"time"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/target"
)

// Scenario is a named script of attempts and faults.
type Scenario struct {
	Name  string // as at the prompt: in-flight
	Title string // one glance, for the table
	Why   string // why it matters, for explain: a few sentences for a newcomer
	// Article is set for those that reproduce the experiment idemrace started from.
	Article bool
	Setting Setting
	Steps   []Step

	// Exposes lists the invariants that the script shows to be violated, surely or
	// possibly, by a target that lacks them under its stresses.
	Exposes  []check.Exposure
	Stresses []check.Stress
	Controls []history.Control
	// AtLeastOnce by nature: a worker dies, or a lease is overrun, in mid-call. No
	// coordinator can both recover and charge once here without the provider's
	// help, so a plain --gate lets double charges in it pass.
	AtLeastOnce bool
	// Chance: bursts of real time bring about by chance what other scenarios bring about
	// on purpose. No claim is made of what a target lacks under any stress at all.
	Chance bool
}

// Setting is what a scenario demands of target and surroundings. Zero values
// leave the choice to the coordinator and the command line.
type Setting struct {
	Workers     []string // names; none means one, "w1"
	StoreDown   reservation.Policy
	MaxResult   int // bytes
	Lease       time.Duration
	WaitLimit   time.Duration
	HonoursKeys bool
	Provider    fakeprovider.Behaviour   // of calls that Script does not reach
	Script      []fakeprovider.Behaviour // of the first calls, in order of arrival
	// RealTime scenarios measure waits: their pauses are part of the story. The
	// others wait for events only.
	RealTime bool
	// Alone: margins are tight, so nothing else runs beside it.
	Alone bool
	// Takes is how long the scenario lasts by itself: its pauses, or the time for
	// which a coordinator tries to complete.
	Takes time.Duration
}

// WorkerNames are the setting's workers, at least one.
func (s Setting) WorkerNames() []string {
	if len(s.Workers) == 0 {
		return []string{"w1"}
	}
	return s.Workers
}

// Needs is what the script asks of a target and its store, each once, in order.
func (s Scenario) Needs() []Ability {
	var needs []Ability
	for _, step := range s.Steps {
		needs = append(needs, step.Needs()...)
	}
	if s.Setting.Provider != (fakeprovider.Behaviour{}) || len(s.Setting.Script) > 0 || s.Setting.HonoursKeys {
		needs = append(needs, CommandProvider)
	}
	var once []Ability
	for _, n := range needs {
		if !slices.Contains(once, n) {
			once = append(once, n)
		}
	}
	return once
}

// Attempts are all that the script sends, in order.
func (s Scenario) Attempts() []target.Attempt {
	var all []target.Attempt
	for _, step := range s.Steps {
		if sender, ok := step.(interface{ attempts() []target.Attempt }); ok {
			all = append(all, sender.attempts()...)
		}
	}
	return all
}

// Refs are the logical operations that the script sends, each once, in order.
func (s Scenario) Refs() []string {
	var refs []string
	for _, a := range s.Attempts() {
		if !slices.Contains(refs, a.Ref) {
			refs = append(refs, a.Ref)
		}
	}
	return refs
}

// All is the catalogue, in the order of the lesson.
func All() []Scenario { return slices.Concat(article(), races(), onTheWay(), retries()) }

// Certain are those that bring about on purpose what they are about: what a judge is
// judged by. See Scenario.Chance.
func Certain() []Scenario {
	return slices.DeleteFunc(All(), func(s Scenario) bool { return s.Chance })
}

// article is the experiment, and the races behind it.
func article() []Scenario {
	return []Scenario{
		inFlight(),
		sequentialRetry(),
		keyReuse(),
		providerError(),
		redisDown(),
		redisDownClosed(),
		scope(),
		retention(),
		keyLength(),
		oversizeResult(),
		workerDeath(),
		burst(),
		leaseOverrun(),
		leaseOverrunLate(),
		lateFailure(),
		lateDecline(),
	}
}

// races are what else a target can lose between two requests.
func races() []Scenario {
	return []Scenario{
		twoWorkers(),
		twoWorkersRetry(),
		pause(),
		staleTakeover(),
		leaseReal(),
		deathBetweenCommands(),
		renewals(),
		unknownOutcome(),
		unknownOutcomeLate(),
		chargeThenError(),
		decline(),
		hangUpDuring(),
		hangUpAfter(),
		hangUpWaiter(),
		payloadInFlight(),
		payloadTakeover(),
		memberOrder(),
		volatileFields(),
		tenants(),
		nearEqualKeys(),
		overlongKey(),
		joinedNames(),
		concurrentReplays(),
		waiterGivesUp(),
		ownerFails(),
		ownerUnknown(),
		manyKeys(),
		leaseOverrunKeys(),
		workerDeathKeys(),
		unknownOutcomeKeys(),
	}
}

// retries are what comes while the first attempt is neither here nor there.
func retries() []Scenario {
	return []Scenario{
		hangUpRetry(),
		waitersGone(),
		ownerFailsRetry(),
		chargeThenErrorKeys(),
		tenantsInFlight(),
		payloadAfterUnknown(),
		waiterOutage(),
		staleLookup(),
		completionHeld(),
		keyless(),
		burstRounds(),
		burstWorkers(),
	}
}

// onTheWay are what is lost, cut or late on the way to the store or the provider.
func onTheWay() []Scenario {
	return []Scenario{
		claimReplyLost(),
		completionReplyLost(),
		completionCut(),
		storeBlip(),
		storeDownPastLease(),
		storeDownAtRelease(),
		redisDownRetry(),
		slowBurst(),
		payloadRace(),
		hangUpBefore(),
		chargeThenHang(),
	}
}

// Lookup finds a scenario by name.
func Lookup(name string) (Scenario, bool) {
	for _, s := range All() {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

func surely(ids ...string) []check.Exposure { return exposures(true, ids) }

func possibly(ids ...string) []check.Exposure { return exposures(false, ids) }

func exposures(sure bool, ids []string) []check.Exposure {
	var out []check.Exposure
	for _, id := range ids {
		out = append(out, check.Exposure{Invariant: id, Surely: sure})
	}
	return out
}

func join[T any](lists ...[]T) []T {
	var out []T
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
