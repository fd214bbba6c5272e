package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestListWraps: no line is wider than the terminal, and no word is broken, for it
// may be a name.
func TestListWraps(t *testing.T) {
	sections := newApp(Config{}).sections()
	words := strings.Fields(listText(sections, 0))
	for _, width := range []int{1, 40, 60, 80, 100, 200} {
		text := listText(sections, width)
		longest := 0
		for _, word := range words {
			longest = max(longest, utf8.RuneCountInString(word)+4) // behind the deepest indent
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(width, longest) {
				t.Errorf("width %d: %d columns: %q", width, n, line)
			}
		}
		if got := strings.Fields(text); strings.Join(got, " ") != strings.Join(words, " ") {
			t.Errorf("width %d: the words are not those of the unwrapped list", width)
		}
	}
}

func TestListLayout(t *testing.T) {
	one := []section{{"impls", []thing{{Name: "a", Doc: "alpha beta gamma delta epsilon"}, {Name: "bee", Doc: "group: stale-takeover"}}}}
	tests := []struct {
		why   string
		width int
		want  string
	}{
		{"a file has no edge", 0, "a    alpha beta gamma delta epsilon\nbee  group: stale-takeover\n"},
		{"what does not fit goes on beside the name", 30, "a    alpha beta gamma delta\n     epsilon\nbee  group: stale-takeover\n"},
		{"too narrow for two columns", 20, "a\n    alpha beta gamma\n    delta epsilon\nbee\n    group:\n    stale-takeover\n"},
		{"a name is longer than the line", 8, "a\n    alpha\n    beta\n    gamma\n    delta\n    epsilon\nbee\n    group:\n    stale-takeover\n"},
	}
	for _, tt := range tests {
		if got := listText(one, tt.width); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.why, got, tt.want)
		}
	}
}
