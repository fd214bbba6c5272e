package report

import (
	"fmt"
	"slices"
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
// disturbance parts them: what came after it is another story.
func gathered(moments []moment) []moment {
	groups := map[int][]moment{} // by the first one's place
	first := make([]int, len(moments))
	open := map[string]int{}
	for i, m := range moments {
		if m.pane == bothPanes {
			open = map[string]int{}
		}
		at, ok := open[m.shape]
		if ok = ok && m.shape != "" && m.at-groups[at][len(groups[at])-1].at <= oneMoment; !ok {
			at, open[m.shape] = i, i
		}
		first[i] = at
		groups[at] = append(groups[at], m)
	}
	var out []moment
	for i, m := range moments {
		switch g := groups[first[i]]; {
		case len(g) < aBurst:
			out = append(out, m)
		case first[i] == i:
			out = append(out, together(g))
		}
	}
	return out
}

func together(group []moment) moment {
	all := group[0]
	all.calls, all.who = slices.Clone(all.calls), slices.Clone(all.who)
	for _, m := range group[1:] {
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
