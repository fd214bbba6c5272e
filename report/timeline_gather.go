package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/idemrace/idemrace/history"
)

const (
	// oneMoment is how far apart alike events may lie to be told as one: less than
	// any pause that a scenario makes on purpose.
	oneMoment = 25 * time.Millisecond
	// aBurst is from how many on: two are more telling apart.
	aBurst = 3
)

// gathered tells bursts as one moment each, at the time of their first. A
// disturbance parts them: what came after it is another story. So does a cause:
// an answer is not told before its question was.
func gathered(moments []moment) []moment {
	g := gathering{moments: moments, first: make([]int, len(moments)), size: map[int]int{}, told: map[string]int{}}
	for _, s := range []stage{sending, arriving, ending, answering, other} {
		g.gather(s)
	}
	var out []moment
	for i, m := range moments {
		switch {
		case g.size[g.first[i]] < aBurst:
			out = append(out, m)
		case g.first[i] == i:
			out = append(out, g.together(i))
		}
	}
	return out
}

// gathering groups moments, stage by stage.
type gathering struct {
	moments []moment
	first   []int          // of each moment's group
	size    map[int]int    // of each group, by its first
	told    map[string]int // where what has an id is told
}

// stage is how far along the way of a request a moment is: each one's causes are
// in an earlier one.
type stage int

const (
	other stage = iota
	sending
	arriving
	ending // of a provider call
	answering
)

func (g *gathering) gather(s stage) {
	open, last := map[string]int{}, map[int]int{}
	for i, m := range g.moments {
		if m.pane == bothPanes {
			open = map[string]int{}
		}
		if m.stage != s {
			continue
		}
		at, ok := open[m.shape]
		if !ok || m.shape == "" || m.at-g.moments[last[at]].at > oneMoment || g.told[m.after] > at {
			at, open[m.shape] = i, i
		}
		g.first[i], last[at] = at, i
		g.size[at]++
	}
	for i, m := range g.moments {
		if m.stage != s || m.id == "" {
			continue
		}
		g.told[m.id] = i
		if at := g.first[i]; g.size[at] >= aBurst {
			g.told[m.id] = at
		}
	}
}

func (g *gathering) together(first int) moment {
	all := g.moments[first]
	all.calls, all.who = nil, nil
	for i, m := range g.moments {
		if g.first[i] != first || m.stage != all.stage {
			continue
		}
		all.calls, all.who = append(all.calls, m.calls...), append(all.who, m.who...)
		if m.tone == bad {
			all.tone = bad
		}
	}
	return all
}

// answersOf sums up the left pane. Whether the answers agree is said only of
// successes: a test that compares answers compares those.
func answersOf(h *history.History) (summary, agree string) {
	var words []string
	oks := map[string]int{}
	for _, e := range h.Events {
		if e.Kind != history.Answer {
			continue
		}
		word := strings.ReplaceAll(e.Answer, "-", " ")
		if e.Answer == history.OK {
			word = e.Charge
			oks[e.Charge]++
		}
		words = append(words, word)
	}
	if len(oks) == 1 && len(words) > 1 {
		for _, n := range oks {
			if n > 1 {
				agree = "the answers agree"
			}
		}
	}
	return counted(words), agree
}

// chargesOf sums up the right pane.
func chargesOf(h *history.History) (summary, verdict string, hue tone) {
	voided := map[string]bool{}
	for _, e := range h.Events {
		if e.Kind == history.Void {
			voided[e.Charge] = true
		}
	}
	var ids []string
	standing := map[string]int{}
	most := 0
	for _, e := range h.Events {
		if e.Kind != history.Commit || voided[e.Charge] {
			continue
		}
		ids = append(ids, e.Charge)
		standing[e.Ref+"\x00"+e.Effect]++
		most = max(most, standing[e.Ref+"\x00"+e.Effect])
	}
	switch {
	case most == 2:
		verdict, hue = "CHARGED TWICE", bad
	case most > 2:
		verdict, hue = fmt.Sprintf("CHARGED %d TIMES", most), bad
	}
	if len(ids) > listed {
		return fmt.Sprintf("%s … %s (%d)", ids[0], ids[len(ids)-1], len(ids)), verdict, hue
	}
	return counted(ids), verdict, hue
}

// listed is up to how many things are listed one by one.
const listed = 7

// counted lists words, or, when there are many, each one once with its number.
func counted(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	if len(words) <= listed {
		return strings.Join(words, ", ")
	}
	number := map[string]int{}
	var order []string
	for _, w := range words {
		if number[w] == 0 {
			order = append(order, w)
		}
		number[w]++
	}
	for i, w := range order {
		order[i] = fmt.Sprintf("%d × %s", number[w], w)
	}
	return strings.Join(order, ", ")
}
