package backend

import (
	"fmt"
	"strings"
)

// The names of stores. URL is the kind of what was found by one.
const (
	Auto        = "auto"
	Embedded    = "embedded"
	RedisServer = "redis-server"
	Container   = "container"
	Memory      = "memory"
	URL         = "url"
)

// Names lists what Spec.Name accepts besides a URL, for help and completion.
func Names() []string { return []string{Auto, Embedded, RedisServer, Container, Memory} }

// unknownName does not repeat what may hold a password.
func unknownName(name string) error {
	if strings.Contains(name, "@") {
		return fmt.Errorf("%w: a URL must begin with redis:// or rediss://", ErrUnknown)
	}
	hint := ""
	if near := nearest(name, Names()); near != "" {
		hint = "did you mean " + near + "? "
	}
	return fmt.Errorf("%w %q; %sstores: %s, or a redis:// or rediss:// URL",
		ErrUnknown, name, hint, strings.Join(Names(), ", "))
}

// nearest is the name that was probably meant by word, or "". A beginning of
// three letters stands for its name; else a third of the letters may be wrong.
func nearest(word string, names []string) string {
	best, least := "", len(word)/3+1
	for _, name := range names {
		if len(word) >= 3 && strings.HasPrefix(name, word) {
			return name
		}
		if d := distance(word, name); d < least {
			best, least = name, d
		}
	}
	return best
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
