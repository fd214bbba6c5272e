package runner

import (
	"fmt"
	"slices"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/results"
)

// topic is something that a profile may leave open, and where it is seen.
type topic struct {
	name, scenario, client string
	say                    func(c results.Cell, a results.Attempt) string
}

// topics are in the order in which somebody who integrates with the service asks.
func topics() []topic {
	return []topic{
		{"in flight", "in-flight", "B", duplicate},
		{"retry", "sequential-retry", "B", duplicate},
		{"reuse", "key-reuse", "C", reused},
		{"missing key", "keyless", "A", keptOrServed},
		{"long key", "overlong-key", "A", keptOrServed},
		{"error caching", "provider-error", "B", afterError},
		{"store down", "redis-down", "A", keptOrServed},
		{"worker death", "worker-death", "C", afterDeath},
		{"hang-up", "hang-up-during", "B", duplicate},
	}
}

// Observe says how a service answers, from what its cells have seen: no verdict,
// but what to write into its documentation, or its profile.
func Observe(cells []results.Cell, target string) []results.Observation {
	var seen []results.Observation
	for _, t := range topics() {
		c, a, ok := attemptOf(cells, target, t.scenario, t.client)
		if ok {
			seen = append(seen, results.Observation{Target: target, Topic: t.name, Seen: t.say(c, a), Scenario: t.scenario})
		}
	}
	return seen
}

func attemptOf(cells []results.Cell, target, scenario, client string) (c results.Cell, a results.Attempt, ok bool) {
	i := slices.IndexFunc(cells, func(c results.Cell) bool {
		return c.Target == target && c.Scenario == scenario && c.Status == results.Judged
	})
	if i < 0 {
		return c, a, false
	}
	j := slices.IndexFunc(cells[i].Attempts, func(a results.Attempt) bool { return a.Client == client })
	if j < 0 {
		return c, a, false
	}
	return cells[i], cells[i].Attempts[j], true
}

// status begins each observation.
func status(a results.Attempt) string {
	if a.Status == 0 {
		return "no answer"
	}
	return fmt.Sprint(a.Status)
}

// first is the first attempt on the same key.
func first(c results.Cell, a results.Attempt) results.Attempt {
	i := slices.IndexFunc(c.Attempts, func(o results.Attempt) bool { return o.Key == a.Key })
	return c.Attempts[i]
}

func duplicate(c results.Cell, a results.Attempt) string {
	switch before := first(c, a); {
	case a.Answer != history.OK:
		return status(a) + ", " + words(a.Answer)
	case a.Charge == before.Charge:
		return status(a) + " with the first one's charge"
	case before.Answer != history.OK:
		return status(a) + ", " + charged(c, a.Ref)
	}
	return status(a) + " with another charge"
}

func reused(c results.Cell, a results.Attempt) string {
	switch {
	case a.Answer != history.OK:
		return status(a) + ", refused"
	case slices.ContainsFunc(c.Charges, func(ch results.Charge) bool { return ch.ID == a.Charge && ch.Ref == a.Ref }):
		return status(a) + " with a charge of its own: the key does not hold"
	}
	return status(a) + " with the charge of another payload: nobody was charged twice, somebody was told a lie"
}

func keptOrServed(c results.Cell, a results.Attempt) string {
	if a.Answer == history.OK {
		return status(a) + ", served"
	}
	return status(a) + ", " + charged(c, a.Ref)
}

func afterError(c results.Cell, a results.Attempt) string {
	switch before := first(c, a); {
	case a.Answer == history.OK:
		return fmt.Sprintf("%s, then %s: a retry runs anew", status(before), status(a))
	case a.Status == before.Status:
		return fmt.Sprintf("%s, then %s again, %s: the error is cached", status(before), status(a), charged(c, a.Ref))
	default:
		return fmt.Sprintf("%s, then %s", status(before), status(a))
	}
}

// afterDeath tells the ways apart in which a service comes back from a worker's
// death: crash is a class of its own.
func afterDeath(c results.Cell, a results.Attempt) string {
	retry, _ := clientOf(c, "B")
	n := standing(c, a.Ref)
	switch {
	case n > 1 && retry.Answer == history.OK && retry.TookMS < leaseSlackMS:
		return "double at once: the retry charged again within the lease"
	case n > 1:
		return fmt.Sprintf("refused or waiting until the lease ended, then double (after %.1f s)", (retry.TookMS+a.TookMS)/1000)
	case a.Answer == history.OK && len(c.Charges) > 0:
		return fmt.Sprintf("single: %s after %.1f s", status(a), (retry.TookMS+a.TookMS)/1000)
	}
	return fmt.Sprintf("stuck: %s, %s, after the lease", status(a), words(a.Answer))
}

// leaseSlackMS is far less than any lease that is waited for.
const leaseSlackMS = 200

func clientOf(c results.Cell, client string) (results.Attempt, bool) {
	i := slices.IndexFunc(c.Attempts, func(a results.Attempt) bool { return a.Client == client })
	if i < 0 {
		return results.Attempt{}, false
	}
	return c.Attempts[i], true
}

func standing(c results.Cell, ref string) int {
	n := 0
	for _, ch := range c.Charges {
		if ch.Ref == ref && !ch.Voided {
			n++
		}
	}
	return n
}

func charged(c results.Cell, ref string) string {
	switch n := standing(c, ref); n {
	case 0:
		return "not charged"
	case 1:
		return "charged"
	default:
		return fmt.Sprintf("charged %d times", n)
	}
}

// words are an answer's, for people.
func words(answer string) string {
	switch answer {
	case history.InProgress:
		return "in progress"
	case history.KeyReused:
		return "key reused"
	case history.InvalidKey:
		return "invalid key"
	case history.UnknownOutcome:
		return "outcome unknown"
	case history.StoreUnavailable:
		return "store unavailable"
	}
	return answer
}
