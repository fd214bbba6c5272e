package cli

import "strings"

// listed is up to how many names a refusal holds.
const listed = 6

// unknown refuses a name: with the one that was probably meant, or all if they are
// few, and with the command that lists them.
func unknown(kind, name string, names []string, list string) error {
	if near := nearest(name, names); near != "" {
		return usage("unknown %s %q; did you mean %s? See: %s", kind, name, near, list)
	}
	if len(names) <= listed {
		return usage("unknown %s %q; it is one of %s; see: %s", kind, name, strings.Join(names, ", "), list)
	}
	return usage("unknown %s %q; see: %s", kind, name, list)
}

// nearest is the name that was probably meant by word, or "": the one
// that differs in two letters or about a third of them, or else one that holds
// the word.
func nearest(word string, names []string) string {
	word = strings.ToLower(word)
	best, least := "", max(len(word)/3+1, min(3, len(word)))
	for _, name := range names {
		if d := distance(word, strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, name := range names {
		if strings.Contains(strings.ToLower(name), word) {
			return name
		}
	}
	return ""
}

// distance is Levenshtein's: how many letters to change, add or drop.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
