package load

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/idemrace/idemrace/history"
)

// Reply is what a client was told.
type Reply struct {
	Answer string // the words of package history
	Source string
	Charge string // the charge that a success names
	Status int    // of an HTTP answer
	Detail string // of an answer that is no success: why, in words
}

// Finding is a violation under load, with the requests that show it.
type Finding struct {
	Invariant string    `json:"invariant"`
	Because   string    `json:"because"`
	Ref       int64     `json:"ref"`
	At        float64   `json:"at_ms"` // since the start
	Attempts  []Attempt `json:"attempts,omitempty"`
}

// Attempt is one request of a key that is told in full.
type Attempt struct {
	N      int64   `json:"n"`
	SentMS float64 `json:"sent_ms"`
	TookMS float64 `json:"took_ms"`
	Answer string  `json:"answer"`
	Source string  `json:"source,omitempty"`
	Charge string  `json:"charge,omitempty"`
}

// Judge checks every key while the load runs. A key is forgotten once all its
// planned requests are answered and it was clean: memory is that of the keys in
// flight. Findings are kept in full up to a bound, and beyond it counted. It is safe
// for concurrent use.
type Judge struct {
	ledger *Ledger
	keep   int
	start  time.Time

	mu       sync.Mutex
	open     map[int64]*key
	later    []SharedRef // what only all shards together can judge
	findings []Finding
	counts   map[string]int64 // findings by invariant
	answers  map[string]int64 // replies by answer
	examples map[string]string
	ok       int64 // refs with a success
	unknown  int64 // refs that ended without a success, and may have charged
}

// key is what is remembered of a ref in flight.
type key struct {
	own      success // with the key's payload
	rival    success // with another payload under the key
	attempts []Attempt
	waiting  int
	final    bool // its last planned request has been sent
	hot      bool
	shared   bool // other shards send the key, too
	differs  bool // two successes named different charges
	unknown  bool
	told     map[string]bool // invariants found already
}

// success is the first one that was answered.
type success struct {
	ok     bool
	charge string // that it named; a service may name none
}

func (k *key) ok() bool { return k.own.ok || k.rival.ok }

// DefaultKept is how many findings are kept in full.
const DefaultKept = 100

// keptAttempts bounds what is remembered of a hot key.
const keptAttempts = 50

// NewJudge judges against a ledger.
func NewJudge(l *Ledger, keep int, start time.Time) *Judge {
	return &Judge{ledger: l, keep: keep, start: start, open: map[int64]*key{}, counts: map[string]int64{}, answers: map[string]int64{}, examples: map[string]string{}}
}

// Sent is told before a request leaves.
func (j *Judge) Sent(r Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := j.open[r.Ref]
	if k == nil {
		k = &key{hot: r.Hot, shared: r.Shared}
		j.open[r.Ref] = k
	}
	k.waiting++
	k.final = k.final || r.Last
}

// Dropped is told of a request that never leaves: it may have been its key's last.
func (j *Judge) Dropped(r Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := j.open[r.Ref]
	if k == nil || !r.Last {
		return
	}
	k.final = true
	j.forget(r.Ref, k)
}

// Answered is told when its client has the answer, or has left.
func (j *Judge) Answered(r Request, a Reply, sent, took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answers[a.Answer]++
	if a.Detail != "" && j.examples[a.Answer] == "" {
		j.examples[a.Answer] = a.Detail
	}
	k := j.open[r.Ref]
	if k == nil {
		return // nobody told that it was sent
	}
	k.waiting--
	if len(k.attempts) < keptAttempts {
		k.attempts = append(k.attempts, Attempt{r.N, ms(sent), ms(took), a.Answer, a.Source, a.Charge})
	}
	j.answer(k, r, a)
	j.forget(r.Ref, k)
}

// forget settles a key for which nothing more comes.
func (j *Judge) forget(ref int64, k *key) {
	if k.waiting == 0 && k.final && !k.hot {
		j.settle(ref, k)
	}
}

// answer judges one reply beside the others of its key.
func (j *Judge) answer(k *key, r Request, a Reply) {
	switch {
	case a.Answer != history.OK:
		k.unknown = k.unknown || a.Answer == history.UnknownOutcome || a.Answer == history.HungUp || a.Answer == history.Error
	default:
		j.success(k, r, a)
	}
	if n := j.ledger.Of(r.Entry()); n > 1 {
		j.found(k, r.Ref, atMostOnce, fmt.Sprintf("the ledger has %d charges for one ref", n))
	}
}

// success: the same payload gets the same charge, and only one payload gets any. In
// flight either may be the first.
func (j *Judge) success(k *key, r Request, a Reply) {
	mine, others := &k.own, &k.rival
	if r.Other {
		mine, others = others, mine
	}
	switch {
	case !mine.ok:
		*mine = success{true, a.Charge}
	case mine.charge != a.Charge:
		k.differs = true
		j.found(k, r.Ref, "answer/replay-equal", fmt.Sprintf("one request was answered %s, and request %d, with the same key and payload, %s", named(mine.charge), r.N, named(a.Charge)))
	}
	if others.ok {
		j.found(k, r.Ref, "reuse/refused", fmt.Sprintf("two payloads under one key were answered %s and %s", named(others.charge), named(a.Charge)))
	}
}

func named(charge string) string { return cmp.Or(charge, "without a charge") }

// settle is the end of a key: all that was planned is answered.
func (j *Judge) settle(ref int64, k *key) {
	delete(j.open, ref)
	if k.shared {
		j.shared(ref, k)
		return
	}
	n := j.ledger.Of(2*ref) + j.ledger.Of(2*ref+1)
	switch {
	case k.ok() && n == 0:
		j.found(k, ref, "effect/success-backed", "a success was answered, and the ledger has no charge")
	case !k.ok() && n > 0 && !k.unknown:
		j.found(k, ref, "effect/accounted", "the ledger has a charge, and no answer names it or says that the outcome is unknown")
	}
	if k.ok() {
		j.ok++
	} else if k.unknown {
		j.unknown++
	}
}

func (j *Judge) found(k *key, ref int64, invariant, because string) {
	if k.told[invariant] || k.shared {
		return
	}
	if k.told == nil {
		k.told = map[string]bool{}
	}
	k.told[invariant] = true
	j.counts[invariant]++
	if len(j.findings) < j.keep {
		j.findings = append(j.findings, Finding{Invariant: invariant, Because: because, Ref: ref,
			At: ms(time.Since(j.start)), Attempts: append([]Attempt(nil), k.attempts...)})
	}
}

// Verdicts is what a judge has to say at the end.
type Verdicts struct {
	Findings  []Finding         `json:"findings"`
	Violated  map[string]int64  `json:"violated"`           // keys, by invariant
	Answers   map[string]int64  `json:"answers"`            // replies, by answer
	Examples  map[string]string `json:"examples,omitempty"` // the first reason for each answer that is no success
	Succeeded int64             `json:"refs_succeeded"`
	Unknown   int64             `json:"refs_unknown"` // no success, and nobody knows whether it was charged
	Open      int               `json:"keys_open"`    // not final when the load ended
	Ledger    Totals            `json:"ledger"`
	// Shared are the refs that other shards send, too. They are in the ledger and among
	// the answers, and in nothing else: merge judges them.
	Shared SharedRefs `json:"shared_refs,omitempty"`
}

// End settles what is still open and reconciles: charges are distinct refs that
// succeeded, and nothing more but what is known to be unknown.
func (j *Judge) End() Verdicts {
	j.mu.Lock()
	defer j.mu.Unlock()
	open := 0
	for ref, k := range j.open {
		if k.waiting > 0 {
			open++
			k.unknown = true
		}
		j.settle(ref, k)
	}
	totals := j.ledger.Totals()
	refs, doubles := j.sharedRefs()
	j.late(totals.Doubles - doubles)
	return Verdicts{Findings: j.findings, Violated: j.counts, Answers: j.answers, Examples: j.examples, Succeeded: j.ok, Unknown: j.unknown, Open: open, Ledger: totals, Shared: refs}
}

// late: refs that were charged again after their last answer, when they had been
// judged and forgotten. The ledger has them all.
func (j *Judge) late(doubles int64) {
	more := doubles - j.counts[atMostOnce]
	if more <= 0 {
		return
	}
	j.counts[atMostOnce] += more
	if len(j.findings) < j.keep {
		j.findings = append(j.findings, Finding{Invariant: atMostOnce, At: ms(time.Since(j.start)),
			Because: fmt.Sprintf("the ledger has %d refs with two or more charges whose last answer came before the second charge", more)})
	}
}

const atMostOnce = "effect/at-most-once"

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
