package check

import (
	"slices"
	"time"

	"github.com/idemrace/idemrace/history"
)

// lives knows when the retention of finished keys ended. A key that is sent again
// after that begins a new life: another execution is right, another answer too.
//
// Two counts per position: how many ends have surely passed, and how many may
// have. Where they differ between the two ends of a span, the span is judged by
// no law about lives: the harness would rather be silent than cry wolf.
type lives struct {
	surely, perhaps []int // by Seq, 0 … len(events)+1
}

// lifeSlack is how far a store's expiry and our clock may differ: Redis expires
// to the millisecond, but a command waits for its turn on a busy machine.
const lifeSlack = 200 * time.Millisecond

func newLives(v *view) lives {
	n := len(v.events) + 2
	l := lives{make([]int, n), make([]int, n)}
	for _, f := range v.faults {
		if f.Op != "set-expiry" {
			continue
		}
		if f.TTLMS <= 0 {
			l.surely[f.Seq]++
			l.perhaps[f.Seq]++
			continue
		}
		at := f.At + time.Duration(f.TTLMS)*time.Millisecond
		l.perhaps[max(f.Seq, v.firstAt(at-lifeSlack))]++
		l.surely[max(f.Seq, v.firstAt(at+lifeSlack))]++
	}
	if r := v.header.RetentionMS; r > 0 {
		// Retention's own end: nothing is sure of any key from here on.
		l.perhaps[v.firstAt(time.Duration(r)*time.Millisecond)]++
	}
	for i := 1; i < n; i++ {
		l.surely[i] += l.surely[i-1]
		l.perhaps[i] += l.perhaps[i-1]
	}
	return l
}

// firstAt is the position of the first event at or after the moment.
func (v *view) firstAt(at time.Duration) int {
	i, _ := slices.BinarySearchFunc(v.events, at, func(e history.Event, at time.Duration) int {
		if e.At < at {
			return -1
		}
		return 1
	})
	return i + 1
}

// one reports whether no life can have ended between two moments.
func (l lives) one(from, to history.Event) bool {
	if from.Seq > to.Seq {
		return true // the later began before the earlier ended
	}
	return l.perhaps[to.Seq] == l.surely[from.Seq]
}

// of is the number of the life that the whole attempt lies in; not sure if an
// end may lie within it.
func (l lives) of(v *view, a *attempt) (life int, sure bool) {
	return l.surely[a.send.Seq], l.one(a.send, v.end(a))
}

// spans splits what was sent under a key by life; attempts of which it is not
// sure are left out.
func (k *keyed) spans(v *view) [][]*attempt {
	at := map[int]int{}
	var spans [][]*attempt
	for _, a := range k.attempts {
		life, sure := v.lives.of(v, a)
		if !sure {
			continue
		}
		i, known := at[life]
		if !known {
			i = len(spans)
			at[life] = i
			spans = append(spans, nil)
		}
		spans[i] = append(spans[i], a)
	}
	return spans
}
