package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idemrace/idemrace/history"
)

// violation is evidence: a sentence, and the events that it rests on.
func violation(events []history.Event, format string, args ...any) *Violation {
	v := &Violation{Because: sentence(fmt.Sprintf(format, args...))}
	for _, e := range events {
		if e.Seq > 0 && !slices.Contains(v.Events, e.Seq) {
			v.Events = append(v.Events, e.Seq)
		}
	}
	slices.Sort(v.Events)
	return v
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// ms is a moment or a length of time as a reader wants it: whole milliseconds,
// tenths where there are few.
func ms(d time.Duration) string {
	f := float64(d) / float64(time.Millisecond)
	if math.Abs(f) < 10 {
		return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) + " ms"
	}
	return strconv.FormatFloat(math.Round(f), 'f', 0, 64) + " ms"
}

func at(e history.Event) string { return "at " + ms(e.At) }

// who names an attempt by its client; by its number among the client's, if the
// client made several.
func (v *view) who(a *attempt) string {
	switch {
	case a == nil:
		return "somebody"
	case a.send.Client == "":
		return "attempt " + strconv.Itoa(a.n)
	case v.clients[a.send.Client] == 1:
		return a.send.Client
	}
	return a.send.Client + "'s " + ordinal(a.ordinal) + " attempt"
}

// whose is "A's call", "the call of A's second attempt".
func (v *view) whose(a *attempt, thing string) string {
	if a != nil && a.send.Client != "" && v.clients[a.send.Client] == 1 {
		return a.send.Client + "'s " + thing
	}
	if a == nil {
		return "a " + thing
	}
	return "the " + thing + " of " + v.who(a)
}

func ordinal(n int) string {
	words := []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"}
	if n >= 1 && n <= len(words) {
		return words[n-1]
	}
	return strconv.Itoa(n) + "th"
}

// list is "a", "a and b", "a, b and c"; long lists end in "and 17 more".
func list(words []string) string {
	const most = 4
	if len(words) > most+1 {
		words = append(slices.Clone(words[:most]), fmt.Sprintf("%d more", len(words)-most))
	}
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// quoted shortens what may be long: a body, a key.
func quoted(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	if strings.Contains(s, `"`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// span is a length of time that was declared: "24 h", "30 s", "500 ms".
func span(ms int64) string {
	const second, hour = 1000, 3600 * 1000
	switch {
	case ms >= hour && ms%hour == 0:
		return fmt.Sprintf("%d h", ms/hour)
	case ms >= second && ms%second == 0:
		return fmt.Sprintf("%d s", ms/second)
	}
	return fmt.Sprintf("%d ms", ms)
}

// told is an answer in words.
func (v *view) told(a *attempt) string {
	return v.who(a) + " " + fate(a, "was")
}

// fate is what became of an attempt, or of several alike.
func fate(a *attempt, was string) string {
	switch {
	case a.answer.Seq == 0 || a.answered(history.HungUp):
		return "had no answer"
	case a.ok() && a.answer.Charge == "":
		return was + " answered ok without a charge"
	case a.ok():
		return was + " answered " + a.answer.Charge
	}
	return was + " told " + answerWords(a.answer.Answer)
}

func answerWords(answer string) string {
	return `"` + strings.ReplaceAll(answer, "-", " ") + `"`
}

// answers is what several attempts were told, in one clause for those who were
// told the same: "A and B were both answered ch_1".
func (v *view) answers(attempts []*attempt) string {
	var fates []string // in order of first mention
	alike := map[string][]*attempt{}
	for _, a := range attempts {
		f := fate(a, "was")
		if alike[f] == nil {
			fates = append(fates, f)
		}
		alike[f] = append(alike[f], a)
	}
	if len(fates) == 0 {
		return "nobody was answered"
	}
	var clauses []string
	for _, f := range fates {
		clauses = append(clauses, v.clause(alike[f]))
	}
	joined := list(clauses)
	if len(fates) < len(attempts) && len(fates) > 1 {
		// Names are joined by "and" already: the clauses need a comma.
		last := clauses[len(clauses)-1]
		joined = strings.TrimSuffix(joined, " and "+last) + ", and " + last
	}
	return joined
}

func (v *view) clause(alike []*attempt) string {
	var names []string
	for _, a := range alike {
		names = append(names, v.who(a))
	}
	was := "was"
	switch {
	case len(alike) == 2:
		was = "were both"
	case len(alike) > 2:
		was = "were all"
	}
	return list(names) + " " + fate(alike[0], was)
}

// ledger is charges with their moments: "ch_1 (at 300 ms) and ch_2 (at 350 ms)".
func ledger(charges []*charge) string {
	var words []string
	for _, c := range charges {
		words = append(words, fmt.Sprintf("%s (%s)", c.id, at(c.commit)))
	}
	return list(words)
}
