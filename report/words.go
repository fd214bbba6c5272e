package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/idemrace/idemrace/results"
)

const (
	// few is up to how many answers or charges are listed one by one.
	few = 4
	// inOrder is up to how many answers keep the clients' order. Beyond it they came
	// at once, and who of them came first is luck.
	inOrder = 10
)

// answer puts the document's word in a reader's words. An ok is told by its charge.
func answer(a results.Attempt) string {
	switch a.Answer {
	case "ok":
		if a.Charge == "" {
			return "ok"
		}
		return clean(a.Charge)
	case "unknown":
		return "outcome unknown"
	case "result-too-large":
		return "done (too large)"
	}
	return clean(strings.ReplaceAll(a.Answer, "-", " "))
}

// responses are in the clients' order, with equal neighbours told as one where
// there are more than a few. Many are told by kind, with the charges first, so
// that a burst reads alike in each run.
func responses(c results.Cell) string {
	if len(c.Attempts) == 0 {
		return "none"
	}
	attempts := slices.Clone(c.Attempts)
	slices.SortStableFunc(attempts, func(a, b results.Attempt) int { return byNumber(a.Client, b.Client) })
	var words []string
	for _, a := range attempts {
		words = append(words, answer(a))
	}
	switch n := len(attempts); {
	case n > inOrder:
		return kinds(attempts)
	case n > few:
		words = neighbours(words)
	}
	return strings.Join(words, ", ")
}

// neighbours tells equal words that follow each other as one: "ch_1 ×2".
func neighbours(words []string) []string {
	var told []string
	for i := 0; i < len(words); {
		n := 1
		for i+n < len(words) && words[i+n] == words[i] {
			n++
		}
		told = append(told, times(words[i], n))
		i += n
	}
	return told
}

func times(word string, n int) string {
	if n == 1 {
		return word
	}
	return fmt.Sprintf("%s ×%d", word, n)
}

func kinds(attempts []results.Attempt) string {
	var charges, words []string
	count := map[string]int{}
	for _, a := range attempts {
		word := answer(a)
		if count[word]++; count[word] > 1 {
			continue
		}
		if a.Charge != "" {
			charges = append(charges, word)
		} else {
			words = append(words, word)
		}
	}
	slices.SortFunc(charges, byNumber)
	if n := len(charges); n > few {
		charges = []string{fmt.Sprintf("%s … %s", charges[0], charges[n-1])}
	}
	all := append(charges, words...)
	for i, word := range all {
		all[i] = times(word, max(1, count[word])) // a range of charges was counted nowhere
	}
	return strings.Join(all, ", ")
}

// byNumber orders C2 before C10.
func byNumber(a, b string) int {
	headA, nA := split(a)
	headB, nB := split(b)
	if headA != headB {
		return strings.Compare(headA, headB)
	}
	return nA - nB
}

func split(name string) (head string, number int) {
	head = strings.TrimRightFunc(name, func(r rune) bool { return r >= '0' && r <= '9' })
	number, _ = strconv.Atoi(name[len(head):])
	return head, number
}

// charges are in order of commit.
func charges(c results.Cell) string {
	if len(c.Charges) == 0 {
		return "none"
	}
	var words []string
	marked := false
	for _, ch := range c.Charges {
		word := clean(ch.ID)
		if ch.Effect != "" && ch.Effect != "charge" {
			word, marked = word+" ("+clean(ch.Effect)+")", true
		}
		if ch.Voided {
			word, marked = word+" (voided)", true
		}
		words = append(words, word)
	}
	if n := len(words); n > few && !marked {
		return words[0] + " … " + words[n-1]
	}
	return strings.Join(words, ", ")
}

// unexpected is loud without colour, too.
const unexpected = "  ← UNEXPECTED"

// fails is the same of a service: nobody had expected anything else of it than that
// it keeps what it promises.
const fails = "  ← FAILS"

// verdict is a cell's in words.
func verdict(c results.Cell) (string, tone) {
	switch c.Status {
	case results.NotApplicable:
		return because("not applicable", c.Why), odd
	case results.CouldNotRun:
		return because("could not run", c.Why), odd
	}
	text, sound := judged(c)
	switch {
	case offExpectation(c) && c.Service:
		return text + fails, bad
	case offExpectation(c):
		return text + unexpected, bad
	case c.Accepted:
		return text + " (known and accepted)", odd
	}
	return text, sound
}

// offExpectation reports whether a cell's verdict is not what was expected of it. An
// inconclusive one says nothing about the target.
func offExpectation(c results.Cell) bool {
	return c.Status == results.Judged && !c.AsExpected && c.Verdict != "inconclusive"
}

func judged(c results.Cell) (string, tone) {
	switch {
	case len(overcharged(c)) > 0:
		return doubleCharge(c), bad
	case c.Verdict == "violated":
		return "VIOLATED " + firstWith(c, "violated"), bad
	case c.Verdict == "inconclusive":
		return "inconclusive: " + doubt(c), odd
	}
	return held(c), good
}

// overcharged are the standing charges by operation, of those that have too many.
func overcharged(c results.Cell) map[[2]string]int {
	standing := map[[2]string]int{}
	for _, ch := range c.Charges {
		if !ch.Voided {
			standing[[2]string{ch.Ref, ch.Effect}]++
		}
	}
	maps.DeleteFunc(standing, func(_ [2]string, n int) bool { return n < 2 })
	return standing
}

// doubleCharge is loud about how often, and about what no answer shows.
func doubleCharge(c results.Cell) string {
	most, agreeing := 0, false
	for of, n := range overcharged(c) {
		most, agreeing = max(most, n), agreeing || successes(c, of[0]) > 1
	}
	text := "DOUBLE CHARGE"
	if most > 2 {
		text = fmt.Sprintf("CHARGED %d TIMES", most)
	}
	var notes []string
	switch silent := violates(c, "effect/silent-duplicate"); {
	case silent && agreeing:
		notes = append(notes, "same answers")
	case silent: // one success has nothing to agree with
		notes = append(notes, "silent")
	}
	if c.AtLeastOnce {
		notes = append(notes, "at least once by nature")
	}
	if len(notes) == 0 {
		return text
	}
	return text + " (" + strings.Join(notes, ", ") + ")"
}

// successes counts the attempts for a ref that were answered ok.
func successes(c results.Cell, ref string) int {
	n := 0
	for _, a := range c.Attempts {
		if a.Ref == ref && a.Answer == "ok" {
			n++
		}
	}
	return n
}

func violates(c results.Cell, invariant string) bool {
	return slices.ContainsFunc(c.Findings, func(f results.Finding) bool { return f.Invariant == invariant && f.Verdict == "violated" })
}

// firstWith names the first invariant with a verdict, and how many more there are.
func firstWith(c results.Cell, verdict string) string {
	var ids []string
	for _, f := range c.Findings {
		if f.Verdict == verdict {
			ids = append(ids, clean(f.Invariant))
		}
	}
	switch len(ids) {
	case 0:
		return "(no finding says which)"
	case 1:
		return ids[0]
	}
	return fmt.Sprintf("%s and %d more", ids[0], len(ids)-1)
}

// doubt says what made a cell inconclusive: a control that was not seen, or else
// the first invariant that could not be decided.
func doubt(c results.Cell) string {
	for _, control := range c.Controls {
		switch name := clean(control.Name); {
		case control.Seen >= control.Min:
		case control.Seen == 0:
			return "control " + name + " not seen"
		default:
			return fmt.Sprintf("control %s seen %d of %d times", name, control.Seen, control.Min)
		}
	}
	return firstWith(c, "inconclusive")
}

func held(c results.Cell) string {
	refs := map[string]bool{}
	for _, ch := range c.Charges {
		if !ch.Voided {
			refs[ch.Ref] = true
		}
	}
	switch len(refs) {
	case 0:
		return "no charge"
	case 1:
		return "one charge"
	}
	return fmt.Sprintf("one charge each (%d refs)", len(refs))
}

// reasons are the sentences under a table: one per violated finding, one per
// finding that is not as expected, and with all the others as well.
func reasons(c results.Cell, all bool) []string {
	var lines []string
	for _, f := range c.Findings {
		if f.Verdict == "violated" || surprising(f) || all {
			lines = append(lines, reason(c, f))
		}
	}
	return lines
}

// surprising: a violation or a clean record that is not what was expected. A
// finding without evidence either way is told by the cell.
func surprising(f results.Finding) bool {
	return !results.AsExpected(f) && f.Verdict != "inconclusive"
}

func reason(c results.Cell, f results.Finding) string {
	line := fmt.Sprintf("%s: %s", clean(c.Target), clean(f.Invariant))
	switch {
	case surprising(f) && f.Verdict == "held":
		return "UNEXPECTED " + line + " held, but must be violated here: the race was not caught, or the target got better"
	case surprising(f) && c.Service:
		return "FAILS " + because(line, f.Because)
	case surprising(f):
		return "UNEXPECTED " + because(line, f.Because)
	case f.Verdict != "violated":
		return because(line+" "+clean(f.Verdict), f.Because)
	case f.Expected == "violated":
		return because(line, f.Because) + " (expected)"
	}
	if c.Service {
		return because(line, f.Because) + " (no claim is made of it here)"
	}
	return because(line, f.Because) + " (known of it; not shown each time)"
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + clean(why)
}

// reproduce is the command that makes a cell again; "" where nothing went wrong.
func reproduce(run results.Run, c results.Cell, opt Options) string {
	wrong := offExpectation(c) || c.Status == results.CouldNotRun || c.Verdict == "inconclusive"
	if !wrong {
		return ""
	}
	store := run.Store.Kind
	if store == "url" {
		store = run.Store.Address
	}
	which := "--impl " + quoted(c.Target)
	if c.Service {
		which = strings.TrimSpace(configured(run) + " --target " + quoted(c.Target))
	}
	return fmt.Sprintf("%s run --scenario %s %s --store %s --seed %d",
		cmp.Or(clean(opt.Command), "idemrace"), quoted(c.Scenario), which, quoted(store), run.Seed)
}

// configured is the flag that names the file which describes the services.
func configured(run results.Run) string {
	if run.Config == "" {
		return ""
	}
	return "--config " + quoted(run.Config)
}

// quoted makes a word safe to paste into a shell.
func quoted(word string) string {
	word = clean(word)
	safe := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:@%+=,", r))
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// served says which store did.
func served(run results.Run) string {
	s := strings.TrimSpace(run.Store.Kind + " " + run.Store.Version)
	if a := run.Store.Address; a != "" {
		s += " at " + a
	}
	return clean(s)
}

// summary is the run in one line.
func summary(run results.Run) string {
	s := run.Summary
	return fmt.Sprintf("%s: %d as expected, %d unexpected, %d inconclusive, %d not applicable, %d could not run; %s, %s; %s",
		count(s.Cells, "cell"), s.AsExpected, s.Unexpected, s.Inconclusive, s.NotApplicable, s.CouldNotRun,
		count(s.DoubleCharges, "double charge"), count(s.ExcessCharges, "excess charge"), wall(run.DurationMS))
}

const interrupted = "INTERRUPTED: these are partial results"

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func wall(ms float64) string {
	if ms < 10_000 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// clean makes text from outside harmless: a key or an error can hold line ends,
// terminal commands and signs that turn the direction of writing.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029':
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}
