package report

import (
	"slices"
	"strings"
)

// maxLanes is how many open provider calls are drawn beside one another; more
// would push the words off the page.
const maxLanes = 4

// lanes draws provider calls as lines, so that one sees which of them overlap.
type lanes struct {
	moments []moment
	spans   []span
	slots   int
}

// span is one call, or one group of calls that arrived in one moment: from the
// row of its arrival to the row of its end.
type span struct {
	first, last int
	slot        int
	calls       []int
}

func newLanes(moments []moment) lanes {
	l := lanes{moments: moments}
	for row, m := range moments {
		if m.mark == arrived {
			l.spans = append(l.spans, span{first: row, last: l.end(row, m.calls), calls: m.calls})
		}
	}
	for i := range l.spans {
		l.spans[i].slot = l.free(i)
		l.slots = max(l.slots, l.spans[i].slot+1)
	}
	return l
}

// end is the row in which the last of the calls ends; one that never ends goes
// down to the foot.
func (l lanes) end(row int, calls []int) int {
	open := slices.Clone(calls)
	last := row
	for i := row + 1; i < len(l.moments) && len(open) > 0; i++ {
		left := slices.DeleteFunc(slices.Clone(open), func(c int) bool {
			return l.moments[i].mark.ends() && slices.Contains(l.moments[i].calls, c)
		})
		if len(left) < len(open) {
			last = i
		}
		open = left
	}
	if len(open) > 0 {
		return len(l.moments) - 1
	}
	return last
}

// free is the leftmost slot that no span holds when span i begins; -1 if all
// are held.
func (l lanes) free(i int) int {
	for slot := range maxLanes {
		held := slices.ContainsFunc(l.spans[:i], func(s span) bool {
			return s.slot == slot && s.last >= l.spans[i].first
		})
		if !held {
			return slot
		}
	}
	return -1
}

func (l lanes) width() int { return 2 * l.slots }

// at draws the lanes' part of a row, or of a line below it.
func (l lanes) at(row int, below bool) string {
	signs := slices.Repeat([]string{" "}, l.slots)
	for _, s := range l.spans {
		if s.slot >= 0 && s.first <= row && row <= s.last {
			signs[s.slot] = l.sign(s, row, below)
		}
	}
	if l.slots == 0 {
		return ""
	}
	return strings.Join(signs, " ") + " "
}

func (l lanes) sign(s span, row int, below bool) string {
	switch m := l.moments[row]; {
	case below && row == s.last:
		return " "
	case below:
		return "│"
	case row == s.first:
		return arrived.sign()
	case slices.ContainsFunc(m.calls, func(c int) bool { return slices.Contains(s.calls, c) }):
		return m.mark.sign()
	}
	return "│"
}

// mark is what happens to a call in a row.
type mark int

// The marks. A call ends with what its ledger line or its failure says; an
// answer that only follows a charge is not drawn.
const (
	unmarked mark = iota
	arrived
	charged
	replayed
	failed
)

func (m mark) ends() bool { return m > arrived }

func (m mark) sign() string {
	switch m {
	case arrived:
		return "┌"
	case charged:
		return "●"
	case replayed:
		return "○"
	case failed:
		return "✗"
	}
	return "│"
}
