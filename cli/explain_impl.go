package cli

import (
	"fmt"
	"strings"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/impl"
)

func implText(e impl.Entry) string {
	var l lesson
	fmt.Fprintf(&l, "%s\n", e.Name)
	l.prose(e.Doc)
	if len(e.Also) > 0 {
		l.prose("Also known as " + strings.Join(e.Also, ", ") + ".")
	}
	for i, paragraph := range e.Story() {
		if i == 0 {
			l.head("What is wrong, where it has been seen, what is right")
			_, paragraph, _ = strings.Cut(strings.TrimPrefix(paragraph, "Package "), " ")
			l.prose("It " + paragraph)
			continue
		}
		l.WriteByte('\n')
		l.prose(paragraph)
	}
	if e.Policy != "" {
		l.head("When the store is down")
		l.prose("It fails " + string(e.Policy) + ", unless --store-policy says otherwise.")
	}
	l.head("What it does not keep")
	if len(e.Lacks) == 0 {
		l.prose("Nothing: every invariant must hold, in every scenario.")
	}
	var stresses []check.Stress
	for _, lack := range e.Lacks {
		if !contains(stresses, lack.Stress) {
			stresses = append(stresses, lack.Stress)
		}
	}
	for _, stress := range stresses {
		l.item("  - ", fmt.Sprintf("under %s: %s", stress, strings.Join(lacked(e, stress), ", ")))
	}
	l.head("See it")
	fmt.Fprintf(&l, "  idemrace run --impl %s\n  idemrace selftest --impl %s\n", e.Name, e.Name)
	return l.String()
}

func lacked(e impl.Entry, stress check.Stress) []string {
	var list []string
	for _, l := range e.Lacks {
		if l.Stress == stress {
			list = append(list, l.Invariant+unless(l.Unless))
		}
	}
	return list
}

func contains(list []check.Stress, s check.Stress) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}
