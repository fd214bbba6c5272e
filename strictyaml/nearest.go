package strictyaml

// Nearest is the name that was meant: the one with the fewest letters to change, if
// that is at most a third of them and one more (two letters swapped are two changes);
// else "".
func Nearest(typed string, names []string) string {
	best, least := "", len([]rune(typed))/3+1
	for _, name := range names {
		if d := distance([]rune(typed), []rune(name)); d <= least && (best == "" || d < distance([]rune(typed), []rune(best))) {
			best = name
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before := row[0]
		row[0] = i + 1
		for j := range b {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
